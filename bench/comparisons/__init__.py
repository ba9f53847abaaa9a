# SPDX-License-Identifier: Apache-2.0
"""The pieces of bench/compare."""
