// SPDX-License-Identifier: Apache-2.0
#include "ucx/setting_values.hpp"

#include <ucs/config/parser.h>
#include <ucs/datastruct/list.h>

#include <array>
#include <cstddef>
#include <string_view>
#include <vector>

#include "ucx/internals.hpp"

namespace weft::ucx::detail {

namespace {

/// Visits the fields of one name, in whichever tables they are.
template <typename Visit>
class Search {
 public:
  Search(std::string_view name, Visit visit) : name_(name), visit_(visit) {}

  void everywhere() {
    // Not by UCX's macro, which looks for a member's place in an entry at address 0.
    using Entry = ucs_config_global_list_entry_t;
    const ucs_list_link_t* const list = internals.ucs_config_global_list;
    for (const ucs_list_link_t* link = list->next; link != list; link = link->next) {
      const auto* entry =
          reinterpret_cast<const Entry*>(reinterpret_cast<const std::byte*>(link) - offsetof(Entry, list));
      look_into(entry->table, entry->prefix != nullptr ? entry->prefix : "", entry->size);
    }
  }

 private:
  // A table within a table has names of its own prefix, and of the outer one's.
  void look_into(const ucs_config_field_t* fields, std::string_view prefix, std::size_t bytes) {
    if (fields == nullptr) return;
    for (const ucs_config_field_t* field = fields; field->name != nullptr; ++field) {
      if (field->parser.read == internals.ucs_config_sscanf_table) {
        const auto* inner = static_cast<const ucs_config_field_t*>(field->parser.arg);
        look_into(inner, field->name, bytes);
        if (prefix != field->name) look_into(inner, prefix, bytes);
      } else if (name_.starts_with(prefix) && name_.substr(prefix.size()) == field->name &&
                 field->offset != UCS_CONFIG_DEPRECATED_FIELD_OFFSET) {
        visit_(*field, bytes);
      }
    }
  }

  const std::string_view name_;
  Visit visit_;
};

// Reads the value as UCX would, to memory that is thrown away.
bool takes(const ucs_config_field_t& field, std::size_t bytes, const char* value) {
  std::vector<std::max_align_t> scratch(bytes / sizeof(std::max_align_t) + 1);
  if (field.parser.read(value, scratch.data(), field.parser.arg) != 1) return false;
  field.parser.release(scratch.data(), field.parser.arg);
  return true;
}

// Returns the field's own value as UCX prints it: "8kb" of a table is "8K" there.
std::string usual_value_of(const ucs_config_field_t& field, std::size_t bytes) {
  const char* const usual = field.dfl_value != nullptr ? field.dfl_value : "";
  std::vector<std::max_align_t> scratch(bytes / sizeof(std::max_align_t) + 1);
  if (field.parser.read(usual, scratch.data(), field.parser.arg) != 1) return usual;
  std::array<char, 256> printed{};
  const int done = field.parser.write(printed.data(), printed.size() - 1, scratch.data(), field.parser.arg);
  field.parser.release(scratch.data(), field.parser.arg);
  return done == 1 ? printed.data() : usual;
}

std::string help_of(const ucs_config_field_t& field) {
  std::array<char, 256> help{};
  field.parser.help(help.data(), help.size() - 1, field.parser.arg);
  return help[0] != '\0' ? help.data() : "something else";
}

}  // namespace

// Of several fields of the name one that takes the value is enough.
std::string misfit(const std::string& name, const std::string& value) {
  bool taken = false;
  std::string wanted;
  Search{name,
         [&](const ucs_config_field_t& field, std::size_t bytes) {
           taken = taken || takes(field, bytes, value.c_str());
           if (!taken) wanted = help_of(field);
         }}
      .everywhere();
  return taken ? std::string{} : wanted;
}

std::optional<std::string> usual_value(const std::string& name) {
  std::optional<std::string> usual;
  Search{name,
         [&](const ucs_config_field_t& field, std::size_t bytes) {
           if (!usual) usual = usual_value_of(field, bytes);
         }}
      .everywhere();
  return usual;
}

}  // namespace weft::ucx::detail
