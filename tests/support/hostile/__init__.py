# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Images that were changed on purpose, under a right checksum, and what they may do."""
