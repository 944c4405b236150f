# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
What each ATen operation means in `spyre` operations, one module per family.

An importer takes an `Emitter` and the node's arguments in the order of the ATen
schema: SSA values for tensors, `Empty` where it says that it takes them, plain numbers
for the rest. It returns a value, or a tuple for several results, and raises
`NotOnCard` for operands that the card does not take.
"""
