// SPDX-License-Identifier: Apache-2.0
#include "weft/weft.hpp"

namespace weft {

namespace {

#if WEFT_HAVE_UCX

std::unique_ptr<Transport> with_ucx(std::unique_ptr<Transport> stream, const UcxOptions& options) {
  return make_ucx_transport(std::move(stream), options);
}

#else

// Answers for ucx:// in a build that has none.
class NoUcx final : public Transport {
 public:
  bool handles(std::string_view scheme) const override { return scheme == "ucx"; }
  Result<std::unique_ptr<Listener> > listen(Loop&, const Url& url) override { return missing(url); }
  Task<Result<std::unique_ptr<Connection> > > connect(Loop&, Url url, ConnectOptions) override {
    co_return missing(url);
  }

 private:
  static Status missing(const Url& url) {
    return {StatusCode::kUnimplemented, Layer::kTransport,
            url.to_string() + ": this build has no UCX (on Debian, install libucx-dev and build again)"};
  }
};

std::unique_ptr<Transport> with_ucx(std::unique_ptr<Transport> stream, const UcxOptions&) {
  return stream;
}

#endif

}  // namespace

TransportSet make_transports(TransportOptions options) {
  TransportSet transports;
  transports.add(with_ucx(make_tcp_transport(std::move(options.tcp)), options.ucx));
#if !WEFT_HAVE_UCX
  transports.add(std::make_unique<NoUcx>());
#endif
  return transports;
}

}  // namespace weft
