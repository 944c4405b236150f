// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Nested tensors of the strided layout can be made on any device, but each operator on
// them has kernels for some devices by name. A card has those that tell their sizes,
// which autograd asks for where an error would end the process, and refuses the rest.

#pragma once

#include <ATen/ops/_nested_tensor_size_native.h>
#include <ATen/ops/_nested_tensor_storage_offsets_native.h>
#include <ATen/ops/_nested_tensor_strides_native.h>
#include <torch/library.h>

namespace {

void refuse_nested(const c10::OperatorHandle& op, torch::jit::Stack*) {
  TORCH_CHECK_NOT_IMPLEMENTED(
      false, op.operator_name(), " does not take a nested tensor of the strided layout ",
      "on a card; make it with layout=torch.jagged");
}

}  // namespace

TORCH_LIBRARY_IMPL(_, NestedTensorPrivateUse1, m) {
  m.fallback(torch::CppFunction::makeFromBoxedFunction<&refuse_nested>());
}

TORCH_LIBRARY_IMPL(aten, NestedTensorPrivateUse1, m) {
  m.impl("_nested_tensor_size", &at::native::_nested_tensor_size);
  m.impl("_nested_tensor_strides", &at::native::_nested_tensor_strides);
  m.impl("_nested_tensor_storage_offsets", &at::native::_nested_tensor_storage_offsets);
}
