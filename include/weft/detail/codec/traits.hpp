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

}  // namespace weft
