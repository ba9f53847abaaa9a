// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/ucx/context.hpp"

#include "ucx/printed.hpp"
#include "ucx/settings.hpp"
#include "weft/detail/ucx/library.hpp"
#include "weft/detail/ucx/status.hpp"

namespace weft::ucx {

namespace {

std::uint64_t feature_bits(const Features& features) {
  std::uint64_t bits = 0;
  if (features.tag) bits |= UCP_FEATURE_TAG;
  if (features.stream) bits |= UCP_FEATURE_STREAM;
  if (features.active_messages) bits |= UCP_FEATURE_AM;
  if (features.remote_memory) bits |= UCP_FEATURE_RMA;
  if (features.atomics_32) bits |= UCP_FEATURE_AMO32;
  if (features.atomics_64) bits |= UCP_FEATURE_AMO64;
  if (features.wakeup) bits |= UCP_FEATURE_WAKEUP;
  return bits;
}

struct ReleaseConfig {
  void operator()(ucp_config_t* config) const { detail::library.ucp_config_release(config); }
};

ucp_params_t params_of(const ContextOptions& options) {
  ucp_params_t params{};
  params.field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_MT_WORKERS_SHARED;
  params.features = feature_bits(options.features);
  params.mt_workers_shared = options.several_threads ? 1 : 0;
  if (options.expected_endpoints > 0) {
    params.field_mask |= UCP_PARAM_FIELD_ESTIMATED_NUM_EPS;
    params.estimated_num_eps = options.expected_endpoints;
  }
  return params;
}

// Returns the setting in effect, whether it came from the options or the environment.
std::string choice_in(const std::string& configuration) {
  const auto said = [&](const char* variable) {
    return variable + ("=" + detail::value_in(configuration, variable).value_or("?"));
  };
  return said("UCX_TLS") + " and " + said("UCX_NET_DEVICES");
}

Status no_context(ucs_status_t status, const std::string& configuration, const std::string& prefix) {
  std::string what = "making a UCX context";
  if (status == UCS_ERR_NO_DEVICE) what += " with " + choice_in(configuration);
  return to_setup_status(status, what, prefix);
}

}  // namespace

Result<std::shared_ptr<Context>> Context::create(const ContextOptions& options) {
  if (Status loaded = detail::load(options.signal_handlers, options.memory_hooks); !loaded.ok())
    return loaded;
  ucp_config_t* read = nullptr;
  const char* prefix = options.environment_prefix.empty() ? nullptr : options.environment_prefix.c_str();
  if (const ucs_status_t status = detail::library.ucp_config_read(prefix, nullptr, &read); status != UCS_OK) {
    return to_setup_status(status, "reading UCX's settings from the environment", options.environment_prefix);
  }
  const std::unique_ptr<ucp_config_t, ReleaseConfig> config{read};
  if (auto applied = detail::apply_settings(config.get(), options); !applied.ok()) {
    return std::move(applied).status();
  }
  std::string configuration = detail::printed([&](std::FILE* stream) {
    detail::library.ucp_config_print(config.get(), stream, nullptr, UCS_CONFIG_PRINT_CONFIG);
  });

  const ucp_params_t params = params_of(options);
  ucp_context_h handle = nullptr;
  if (const ucs_status_t status =
          detail::library.ucp_init_version(UCP_API_MAJOR, UCP_API_MINOR, &params, config.get(), &handle);
      status != UCS_OK) {
    return no_context(status, configuration, options.environment_prefix);
  }
  return std::make_shared<Context>(Private{}, handle, options, std::move(configuration));
}

Context::Context(Private, ucp_context_h handle, const ContextOptions& options, std::string configuration)
    : handle_(handle),
      features_(options.features),
      environment_prefix_(options.environment_prefix),
      configuration_(std::move(configuration)) {}

Context::~Context() {
  detail::library.ucp_cleanup(handle_);
}

std::string Context::choice() const {
  return choice_in(configuration_);
}

std::string Context::description() const {
  return detail::printed([&](std::FILE* stream) { detail::library.ucp_context_print_info(handle_, stream); });
}

}  // namespace weft::ucx
