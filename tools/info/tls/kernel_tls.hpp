// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "info/words.hpp"

namespace weft::info {

/// The kernel's answers about TLS in its TCP.
struct KernelAnswer {
  /// The errno of asking a socket for it; zero: it was taken.
  int error = 0;
  /// The names of what the kernel can lay over TCP, as it lists them, such as "mptcp tls"; empty: it lists
  /// none.
  std::string listed = {};
};

/// Asks this machine's kernel, by a socket that is connected to nobody.
KernelAnswer ask_kernel();

/// Says whether the kernel has TLS, by its answer, and whether Weft uses it, each with the reason.
std::vector<Word> kernel_tls_words(const KernelAnswer& answer);

}  // namespace weft::info
