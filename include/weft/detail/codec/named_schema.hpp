// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <utility>

#include "weft/detail/codec/codec.hpp"
#include "weft/detail/codec/field_names.hpp"

namespace weft::detail {

/// Writes the text of a SchemaWriter with the name of each field of an aggregate before the type of the
/// field:
/// "{x: f64, y: f64}". The names do not count for the hash, nor for references.
class NamedSchemaWriter : public SchemaWriter {
 public:
  using SchemaWriter::SchemaWriter;

  template <typename T>
  void type() {
    codec_detail::Codec<std::remove_cv_t<T>>::append_schema(*this);
  }
  template <typename... Ts>
  void list() {
    Separator separator;
    (list_item<Ts>(*this, separator), ...);
  }
  template <typename T>
  void members() {
    list_named<T>(codec_detail::members_of<T>{});
  }

 private:
  template <typename T, typename... Ms>
  void list_named(codec_detail::Types<Ms...>) {
    Separator separator;
    std::size_t place = 0;
    if constexpr (codec_detail::kind_of<T> == codec_detail::Kind::kAggregate)
      (list_item<Ms>(*this, separator, codec_detail::field_names<T>[place++]), ...);
    else
      (list_item<Ms>(*this, separator), ...);
  }
};

/// The structure of `Ts...` with the names of fields: "(i32, string, {x: f64, bytes: [u8]})". It describes
/// the same bytes as schema_text().
template <typename... Ts>
std::string named_schema_text() {
  std::string text;
  if constexpr ((... && codec_detail::explain<codec_detail::encode_problem<Ts>>())) {
    NamedSchemaWriter writer{&text};
    writer.put("(");
    writer.list<Ts...>();
    writer.put(")");
  }
  return text;
}

}  // namespace weft::detail
