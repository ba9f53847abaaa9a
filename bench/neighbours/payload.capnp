# SPDX-License-Identifier: Apache-2.0
@0xb8f6a1c3d5e79023;

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("weft::neighbours");

interface Echo {
  say @0 (payload :Data) -> (payload :Data);
}
