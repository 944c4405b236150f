# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import sys

import torch

print("arguments", sys.argv[1:])
model = torch.compile(torch.nn.ReLU(), backend="spyre_mlir")
with torch.no_grad():
    model(torch.ones(4, 64, dtype=torch.float16))
