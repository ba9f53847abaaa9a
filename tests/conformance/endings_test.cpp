// SPDX-License-Identifier: Apache-2.0
#include "conformance/fixture.hpp"
