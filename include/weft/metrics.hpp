// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "weft/detail/base/requirements.hpp"
// A class that is never destroyed through its base has a protected destructor, which g++ takes for accessible
// if the class has friends.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wnon-virtual-dtor"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

struct ClientStats;
struct PoolStats;
struct ServerStats;
struct TlsStats;

/// Text format of a page of metrics.
enum class MetricsFormat : std::uint8_t {
  kPrometheus,   ///< Prometheus text 0.0.4, which all collectors read
  kOpenMetrics,  ///< OpenMetrics 1.0
};

/// Returns the media type of a page, for the header Content-Type.
std::string_view media_type(MetricsFormat format);

namespace detail {

struct MetricFamily;

}  // namespace detail

/// A page of metrics: counters of a server and of clients as text, for Prometheus and other collectors. The
/// names, types and labels are in docs/guide/observing.md. The number of lines depends on the methods and
/// objects of the program, never on what its peers send. Throws
/// std::bad_alloc.
class MetricsPage {
 public:
  explicit MetricsPage(MetricsFormat format);
  MetricsPage(MetricsPage&& other) noexcept;
  MetricsPage& operator=(MetricsPage&& other) noexcept;
  ~MetricsPage();

  /// Adds the counters of a server; at most one on a page.
  void add(const ServerStats& stats);
  /// Adds the counters of a client with the label `target`, which differs among the clients of a page.
  void add(const ClientStats& stats, std::string_view target);
  /// The same for a pool of connections.
  void add(const PoolStats& stats, std::string_view target);
  /// Adds the counters of TLS with the label `credentials`, which differs among the credentials of a page,
  /// such as "server".
  void add(const TlsStats& stats, std::string_view credentials);
  /// Returns the text of everything that was added.
  std::string text() const;

 private:
  MetricsFormat format_;
  std::vector<detail::MetricFamily> families_;
};

/// Returns the page of one server: `metrics_text(server.stats(), weft::MetricsFormat::kPrometheus)`.
std::string metrics_text(const ServerStats& stats, MetricsFormat format);

}  // namespace weft

#pragma GCC diagnostic pop
