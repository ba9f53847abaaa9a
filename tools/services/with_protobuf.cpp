// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "services/protobuf_services.hpp"
#include "services/run_stream.hpp"
#include "weft/detail/protobuf/remote_services.hpp"
#include "weft/weft.hpp"

namespace weft::services {

namespace {

class OfProtobuf final : public ProtobufServices {
 public:
  explicit OfProtobuf(Client& client) : services_(client) {}

  Task<Result<std::vector<std::string>>> names() override { return services_.list(); }
  Task<Result<std::vector<Service>>> list() override;
  Task<Result<std::string>> describe(std::string name) override {
    return services_.describe(std::move(name));
  }
  Task<Result<std::string>> call(std::string method, const Options* options,
                                 CallOptions call_options) override;

 private:
  protobuf::RemoteServices services_;
};

Task<Result<std::vector<ProtobufServices::Service>>> OfProtobuf::list() {
  const Result<std::vector<std::string>> names = co_await services_.list();
  if (!names.ok()) co_return names.status();
  std::vector<Service> list;
  for (const std::string& name : *names) {
    Result<std::vector<std::string>> streams = co_await services_.streams_of(name);
    if (!streams.ok()) co_return streams.status();
    Service service{name, *std::move(streams)};
    list.push_back(std::move(service));
  }
  co_return list;
}

Task<Result<std::string>> OfProtobuf::call(std::string method, const Options* options,
                                           CallOptions call_options) {
  const Result<protobuf::Streams> streams = co_await services_.streams(method, call_options);
  if (!streams.ok()) co_return streams.status();
  if (*streams == protobuf::Streams::kNone) {
    const std::string request = request_of(*options, "{}");
    co_return co_await services_.call(method, request, call_options);
  }
  if (options->seconds) call_options.timeout = duration_of(*options->seconds);
  const bool has_request = *streams == protobuf::Streams::kResponses;
  if (!has_request && options->json && *options->json != "-") {
    co_return Status{StatusCode::kInvalidArgument, Layer::kUser,
                     method + " streams its requests: give them on standard input, one in each line"};
  }
  const std::string request = has_request ? request_of(*options, "{}") : "{}";
  Result<protobuf::RemoteStream> stream = co_await services_.open(method, request, call_options);
  if (!stream.ok()) co_return stream.status();
  co_return co_await run_stream(&*stream);
}

}  // namespace

std::unique_ptr<ProtobufServices> protobuf_services(Client& client) {
  return std::make_unique<OfProtobuf>(client);
}

}  // namespace weft::services
