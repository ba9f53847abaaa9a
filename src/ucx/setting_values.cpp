// SPDX-License-Identifier: Apache-2.0
#include "ucx/setting_values.hpp"

#include <ucs/config/parser.h>
#include <ucs/datastruct/list.h>

#include <array>
#include <cstddef>
#include <string_view>
#include <vector>

namespace weft::ucx::detail {

namespace {

/// What the fields of one name, in whichever tables, say to a value: one that takes it is enough.
struct Judgement {
  bool accepted = false;
  std::string wanted;
};

class Judge {
 public:
  Judge(std::string_view name, const char* value) : name_(name), value_(value) {}

  // A table within a table has names of its own prefix, and of the outer one's.
  void look_into(const ucs_config_field_t* fields, std::string_view prefix, std::size_t bytes) {
    if (fields == nullptr) return;
    for (const ucs_config_field_t* field = fields; field->name != nullptr; ++field) {
      if (field->parser.read == &ucs_config_sscanf_table) {
        const auto* inner = static_cast<const ucs_config_field_t*>(field->parser.arg);
        look_into(inner, field->name, bytes);
        if (prefix != field->name) look_into(inner, prefix, bytes);
      } else if (name_.starts_with(prefix) && name_.substr(prefix.size()) == field->name) {
        ask(*field, bytes);
      }
    }
  }
  const Judgement& judgement() const { return judgement_; }

 private:
  // Reads the value as UCX would, to memory that is thrown away.
  void ask(const ucs_config_field_t& field, std::size_t bytes) {
    if (field.offset == UCS_CONFIG_DEPRECATED_FIELD_OFFSET) return;
    std::vector<std::max_align_t> scratch(bytes / sizeof(std::max_align_t) + 1);
    if (field.parser.read(value_, scratch.data(), field.parser.arg) == 1) {
      field.parser.release(scratch.data(), field.parser.arg);
      judgement_.accepted = true;
      return;
    }
    std::array<char, 256> help{};
    field.parser.help(help.data(), help.size() - 1, field.parser.arg);
    judgement_.wanted = help.data();
    if (judgement_.wanted.empty()) judgement_.wanted = "something else";
  }

  const std::string_view name_;
  const char* const value_;
  Judgement judgement_;
};

}  // namespace

std::string misfit(const std::string& name, const std::string& value) {
  Judge judge{name, value.c_str()};
  const ucs_config_global_list_entry_t* entry = nullptr;
  ucs_list_for_each(entry, &ucs_config_global_list, list) {
    judge.look_into(entry->table, entry->prefix != nullptr ? entry->prefix : "", entry->size);
  }
  return judge.judgement().accepted ? std::string{} : judge.judgement().wanted;
}

}  // namespace weft::ucx::detail
