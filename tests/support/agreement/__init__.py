# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random programs, and the levels that must agree about them."""
