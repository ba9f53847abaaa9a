// SPDX-License-Identifier: Apache-2.0
#include "info/stream_carrier.hpp"

#include <cstddef>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "info/json.hpp"
#include "info/words.hpp"

namespace weft::info {
namespace {

class StreamCarrier final : public CarrierFacts {
 public:
  explicit StreamCarrier(std::optional<KernelAnswer> kernel) : kernel_(std::move(kernel)) {}

  CarrierNames names() const override {
    return {.kind = detail::wire::CarrierKind::kStream, .title = "the stream"};
  }
  void look(const Options&) override { kernel_ = ask_kernel(); }
  std::string text(const Options&) const override {
    if (!kernel_) return {};
    return heading("TLS over TCP") + words_text(kernel_tls_words(*kernel_));
  }
  void add_json(const Options&, Json& report) const override {
    if (!kernel_) return;
    constexpr const char* kNames[] = {"kernel", "kernel_is_used"};
    const std::vector<Word> words = kernel_tls_words(*kernel_);
    for (std::size_t i = 0; i < words.size(); ++i) {
      report["tls"][kNames[i]] = words[i].value + (words[i].note.empty() ? "" : ": " + words[i].note);
    }
  }
  std::string carries_text(const Probe& probe) const override {
    return names().title + " (" + probe.carrier + ")";
  }

 private:
  std::optional<KernelAnswer> kernel_;
};

}  // namespace

std::unique_ptr<CarrierFacts> stream_carrier(std::optional<KernelAnswer> kernel) {
  return std::make_unique<StreamCarrier>(std::move(kernel));
}

}  // namespace weft::info
