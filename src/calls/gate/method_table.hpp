// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "weft/detail/base/result.hpp"
#include "weft/detail/calls/terms/method_entry.hpp"
#include "weft/detail/calls/terms/running_limit.hpp"

namespace weft::detail {

class ServerGate;

/// The registered methods by id and schema: open addressing at half load, built once, then only read, from
/// every loop. Functions of one name and different types, such as a template's specialisations, share an id.
class MethodTable {
 public:
  MethodTable() = default;
  /// `calls_running_max` limits the running calls of all methods together; zero: no limit. Errors:
  /// kAlreadyExists for two methods with the same id and schema, kInvalidArgument for invalid options.
  static Result<MethodTable> build(std::vector<MethodEntry> entries, std::size_t calls_running_max = 0);
  /// Lets the calls of each method pass what `gate` has for them. `timed`: CallTimes times them. Throws
  /// std::bad_alloc.
  void put_behind(std::shared_ptr<ServerGate> gate, bool timed = false);

  const MethodEntry* find(std::uint64_t id, std::uint32_t schema) const {
    return find_if(id, [schema](const MethodEntry& entry) { return entry.key.schema == schema; });
  }
  /// Finds a method with that id, and with any types.
  const MethodEntry* find_any(std::uint64_t id) const {
    return find_if(id, [](const MethodEntry&) { return true; });
  }
  /// Null before put_behind().
  ServerGate* gate() const { return gate_.get(); }
  bool has_blocking() const;
  /// Side that serves them, for people: "server", "client".
  std::string_view whose() const { return whose_; }
  void set_whose(std::string_view whose) { whose_ = whose; }
  /// All of them, as they were registered; their indices count from 1.
  const std::vector<MethodEntry>& entries() const { return entries_; }

 private:
  template <typename Wanted>
  const MethodEntry* find_if(std::uint64_t id, Wanted wanted) const {
    if (slots_.empty()) return nullptr;
    for (std::size_t at = home(id);; at = (at + 1) & (slots_.size() - 1)) {
      const MethodEntry* entry = slots_[at];
      if (entry == nullptr || (entry->key.id == id && wanted(*entry))) return entry;
    }
  }
  std::size_t home(std::uint64_t id) const { return static_cast<std::size_t>(id >> 7) & (slots_.size() - 1); }

  std::string_view whose_ = "server";
  std::vector<MethodEntry> entries_;
  /// That of all methods together first, if there is one.
  std::vector<std::unique_ptr<RunningLimit>> limits_;
  std::vector<const MethodEntry*> slots_;
  /// Null without one.
  std::shared_ptr<ServerGate> gate_;
};

}  // namespace weft::detail
