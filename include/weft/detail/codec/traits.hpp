// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace weft {

/// The hook by which a user's type becomes encodable: specialise it. It has two forms, which
/// docs/internals/codec.md describes: by a stand-in (`Wire`, `to_wire`, `from_wire`), or by hand
/// (`kMinEncodedSize`, `encoded_size`, `encode`, `decode`, `append_schema`). A specialisation wins over what
/// the codec would do itself.
template <typename T>
struct CodecTraits {
  using NotSpecialised = void;
};

/// Declares that a class outside of namespace std with the shape of a standard container or view has no data
/// beside its elements: specialise it as true. Without that, and without CodecTraits, such a class does not
/// compile as an argument or a result, because its further members would be lost.
template <typename T>
inline constexpr bool is_codec_container = false;

}  // namespace weft
