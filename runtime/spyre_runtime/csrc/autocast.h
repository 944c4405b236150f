// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The rules of `torch.autocast("spyre")`: PyTorch's own lists of operators, those of
// CUDA, each with one boxed kernel that casts and calls the operator again.

#pragma once

#include <ATen/autocast_mode.h>
#include <torch/library.h>

#include <string>

#include "generator.h"

namespace {

using CardAutocastOff = c10::impl::ExcludeDispatchKeyGuard;
constexpr auto kCardAutocast = DispatchKey::AutocastPrivateUse1;

at::ScalarType narrow_type() { return at::autocast::get_autocast_dtype(kCard); }

template <typename Visit>
void visit_arguments(const c10::OperatorHandle& op, torch::jit::Stack* stack,
                     const Visit& visit) {
  const auto count = op.schema().arguments().size();
  for (size_t i = 0; i < count; ++i) visit(torch::jit::peek(*stack, i, count));
}

void cast_all(const c10::OperatorHandle& op, torch::jit::Stack* stack,
              at::ScalarType type) {
  visit_arguments(op, stack, [&](c10::IValue& value) {
    if (value.isTensor())
      value = at::autocast::cached_cast(type, value.toTensor(), kCard);
    else if (value.isTensorList())
      value = at::autocast::cached_cast(
          type, at::TensorList(value.toTensorVector()), kCard);
  });
}

bool is_first_eligible(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  const auto& first = torch::jit::peek(*stack, 0, op.schema().arguments().size());
  return at::autocast::is_eligible(first.toTensor(), kCard);
}

void autocast_narrow(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  CardAutocastOff off(kCardAutocast);
  cast_all(op, stack, narrow_type());
  op.callBoxed(stack);
}

void autocast_float(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  CardAutocastOff off(kCardAutocast);
  cast_all(op, stack, at::kFloat);
  op.callBoxed(stack);
}

// In float, by the operator's own choice of a type if the caller made none.
void autocast_dtype(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  CardAutocastOff off(kCardAutocast);
  const auto& arguments = op.schema().arguments();
  if (is_first_eligible(op, stack))
    for (size_t i = 0; i < arguments.size(); ++i) {
      auto& value = torch::jit::peek(*stack, i, arguments.size());
      if (arguments[i].name() == "dtype" && value.isNone()) value = at::kFloat;
    }
  op.callBoxed(stack);
}

// As above, where the overload that takes a type is another.
void autocast_overload(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  CardAutocastOff off(kCardAutocast);
  const auto& name = op.operator_name();
  const auto typed =
      name.overload_name == "Scalar" ? "ScalarOpt_dtype" : "ScalarOpt_dim_dtype";
  const auto& first =
      torch::jit::peek(*stack, 0, op.schema().arguments().size()).toTensor();
  const auto own = first.scalar_type();
  stack->emplace_back(at::autocast::is_eligible(first, kCard) ? at::kFloat : own);
  c10::Dispatcher::singleton()
      .findSchemaOrThrow(name.name.c_str(), typed)
      .callBoxed(stack);
}

void autocast_widest(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  CardAutocastOff off(kCardAutocast);
  auto type = narrow_type();
  visit_arguments(op, stack, [&](c10::IValue& value) {
    if (value.isTensor() && value.toTensor().defined())
      type = at::autocast::prioritize(type, value.toTensor(), kCard);
    else if (value.isTensorList())
      type = at::autocast::prioritize(
          type, at::TensorList(value.toTensorVector()), kCard);
  });
  cast_all(op, stack, type);
  op.callBoxed(stack);
}

void autocast_refused(const c10::OperatorHandle& op, torch::jit::Stack*) {
  TORCH_CHECK(false, op.operator_name(), " is unsafe under autocast: a narrow sigmoid ",
              "rounds to 0 or 1. Use binary_cross_entropy_with_logits (BCEWithLogitsLoss)"
              ", or leave autocast for the loss");
}

}  // namespace

TORCH_LIBRARY_IMPL(_, AutocastPrivateUse1, m) {
  m.fallback(torch::CppFunction::makeFallthrough());
}

#define SPYRE_NAME1(OP) #OP
#define SPYRE_NAME2(OP, OVERLOAD) #OP "." #OVERLOAD
#define SPYRE_PICK(FIRST, SECOND, NAME, ...) NAME
#define SPYRE_NAME(...) \
  SPYRE_PICK(__VA_ARGS__, SPYRE_NAME2, SPYRE_NAME1)(__VA_ARGS__)
#define SPYRE_RULE(KERNEL, NAME) \
  m.impl(NAME, torch::CppFunction::makeFromBoxedFunction<&KERNEL>());
#define SPYRE_NARROW(...) SPYRE_RULE(autocast_narrow, SPYRE_NAME(__VA_ARGS__))
#define SPYRE_FLOAT(...) SPYRE_RULE(autocast_float, SPYRE_NAME(__VA_ARGS__))
#define SPYRE_DTYPE(...) SPYRE_RULE(autocast_dtype, SPYRE_NAME(__VA_ARGS__))
#define SPYRE_OVERLOAD(FUNCTION, NAME, ...) SPYRE_RULE(autocast_overload, NAME)
#define SPYRE_WIDEST(...) SPYRE_RULE(autocast_widest, SPYRE_NAME(__VA_ARGS__))

TORCH_LIBRARY_IMPL(aten, AutocastPrivateUse1, m) {
  AT_FORALL_LOWER_PRECISION_FP(SPYRE_NARROW)
  AT_FORALL_FP32(SPYRE_FLOAT)
  AT_FORALL_FP32_SET_OPT_DTYPE(SPYRE_DTYPE)
  AT_FORALL_DIFFERENT_REDISPATCH_SIGNATURE(SPYRE_OVERLOAD)
  AT_FORALL_PROMOTE(SPYRE_WIDEST)
  SPYRE_RULE(autocast_refused, "binary_cross_entropy")
}
