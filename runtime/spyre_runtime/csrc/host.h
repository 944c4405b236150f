// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operators on card tensors that run on the host: all that have no kernel here. They
// are counted. Tensors go to the host, the CPU's kernel runs, results and what the
// schema says is written come back.
//
// For some operators that cannot be done as it stands: PyTorch sends them to devices
// alone and the CPU has no kernel, or their schema does not tell what they write, or
// what they draw from. Each of those has a stand-in, an operator with a CPU kernel
// whose schema tells it.

#pragma once

#include <ATen/TensorOperators.h>
#include <ATen/native/CPUFallback.h>
#include <ATen/ops/_safe_softmax.h>
#include <ATen/ops/batch_norm_update_stats.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/convolution.h>
#include <ATen/ops/convolution_backward.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/logsumexp.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/native_batch_norm.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/zeros_like.h>
#include <torch/library.h>

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "generator.h"

namespace {

using Stack = torch::jit::Stack;

std::mutex fallback_lock;
std::map<std::string, int64_t> fallbacks;

// Index tensors may stay on the host, as PyTorch allows for any accelerator.
bool takes_host_tensors(const std::string& name) {
  return name == "aten::index" || name == "aten::index_put_" ||
         name == "aten::_index_put_impl_" || name == "aten::_pack_padded_sequence";
}

// The card of an operator's tensors; refuses tensors of several devices.
std::optional<Device> card_of(const c10::OperatorHandle& op, const Stack& stack) {
  const auto& name = op.operator_name().name;
  std::optional<Device> card, host;
  const auto see = [&](const Tensor& tensor) {
    if (!tensor.defined()) return;
    const auto device = tensor.device();
    if (device.type() != kCard && tensor.dim() > 0) host = device;
    if (device.type() != kCard) return;
    TORCH_CHECK(!card || *card == device, name,
                ": expected all tensors to be on one device, but found ", *card,
                " and ", device);
    card = device;
  };
  for (const auto& value : torch::jit::last(stack, op.schema().arguments().size())) {
    if (value.isTensor()) see(value.toTensor());
    if (!value.isList()) continue;
    for (const c10::IValue& item : value.toListRef())
      if (item.isTensor()) see(item.toTensor());
  }
  TORCH_CHECK(!card || !host || takes_host_tensors(name), name,
              ": expected all tensors to be on one device, but found ", *card,
              " and ", *host, "; move one with .to()");
  return card;
}

// Has the operator draw from the generator's numbers, by default the card's.
void pass_numbers(const c10::OperatorHandle& op, Stack* stack, DeviceIndex card) {
  const auto& arguments = op.schema().arguments();
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].name() != "generator") continue;
    auto& value = torch::jit::peek(*stack, i, arguments.size());
    auto found = value.isGenerator() ? value.toGenerator() : generator_of(card);
    TORCH_CHECK(found.device().type() == kCard, op.operator_name(),
                ": expected a generator on a card, not on ", found.device());
    value = found.get<CardGenerator>()->numbers;
  }
}

void run_on_host(const c10::OperatorHandle& op, Stack* stack, const std::string& name) {
  const auto card = card_of(op, *stack);
  {
    std::lock_guard lock(fallback_lock);
    ++fallbacks[name];
  }
  if (op.hasTag(at::Tag::nondeterministic_seeded))
    pass_numbers(op, stack, card ? card->index() : -1);
  at::native::cpu_fallback(op, stack, /*error_on_views=*/true);
}

void fallback(const c10::OperatorHandle& op, Stack* stack) {
  run_on_host(op, stack, c10::toString(op.operator_name()));
}

// ---- Stand-ins

struct StandIn {
  const char* name;
  std::vector<std::string> writes;  // arguments that the operator writes unsaid
  bool draws = false;               // from a generator that is appended
};

const std::vector<StandIn> kStandIns{
    {"convolution_overrideable"},
    {"convolution_backward_overrideable"},
    {"_thnn_fused_lstm_cell"},
    {"_thnn_fused_lstm_cell_backward_impl"},
    {"_thnn_fused_gru_cell"},
    {"_thnn_fused_gru_cell_backward"},
    {"_scaled_dot_product_fused_attention_overrideable", {}, true},
    {"_scaled_dot_product_fused_attention_overrideable_backward"},
    {"native_dropout", {}, true},
    {"native_batch_norm", {"running_mean", "running_var"}},
    {"batch_norm_update_stats", {"running_mean", "running_var"}},
};

c10::OperatorHandle find_op(const std::string& name) {
  return c10::Dispatcher::singleton().findSchemaOrThrow(name.c_str(), "");
}

c10::FunctionSchema schema_of(const StandIn& made) {
  const auto& schema = find_op(std::string("aten::") + made.name).schema();
  auto arguments = schema.arguments();
  for (auto& argument : arguments) {
    const auto& writes = made.writes;
    if (std::find(writes.begin(), writes.end(), argument.name()) == writes.end())
      continue;
    const std::set<std::string> own{"alias::" + argument.name()};
    argument = c10::Argument(argument.name(), argument.type(), argument.real_type(),
                             argument.N(), argument.default_value(),
                             argument.kwarg_only(), c10::AliasInfo(true, own, own));
  }
  if (made.draws)
    arguments.emplace_back("generator",
                           c10::OptionalType::create(c10::GeneratorType::get()),
                           std::nullopt, c10::IValue(), /*kwarg_only=*/true);
  return {std::string("spyre_host::") + made.name, "", std::move(arguments),
          schema.returns()};
}

// Whether an operator that has a mode for training is told not to be in it: then it
// writes nothing, and its arguments must not count as written.
bool is_evaluating(const c10::OperatorHandle& op, const Stack& stack) {
  const auto& arguments = op.schema().arguments();
  for (size_t i = 0; i < arguments.size(); ++i)
    if (arguments[i].name() == "training")
      return !torch::jit::peek(stack, i, arguments.size()).toBool();
  return false;
}

void stand_in(const c10::OperatorHandle& op, Stack* stack) {
  if (is_evaluating(op, *stack)) return fallback(op, stack);
  const auto& name = op.operator_name().name;  // "aten::" and the rest
  const auto found = find_op("spyre_host" + name.substr(4));
  if (found.schema().arguments().size() > op.schema().arguments().size())
    stack->emplace_back();
  run_on_host(found, stack, name);
}

using Tensors2 = std::tuple<Tensor, Tensor>;
using Tensors3 = std::tuple<Tensor, Tensor, Tensor>;
using Tensors4 = std::tuple<Tensor, Tensor, Tensor, Tensor>;
using Tensors5 = std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor>;
using MaybeTensor = std::optional<Tensor>;

Tensors3 convolution_backward(const Tensor& gradient, const Tensor& input,
                              const Tensor& weight, IntArrayRef stride,
                              IntArrayRef padding, IntArrayRef dilation,
                              bool transposed, IntArrayRef output_padding,
                              int64_t groups, std::array<bool, 3> mask) {
  const auto outputs = transposed ? weight.size(1) * groups : weight.size(0);
  return at::convolution_backward(gradient, input, weight, IntArrayRef{outputs}, stride,
                                  padding, dilation, transposed, output_padding, groups,
                                  mask);
}

Tensor plus(const Tensor& gates, const MaybeTensor& bias) {
  return bias && bias->defined() ? gates + *bias : gates;
}

Tensors3 lstm_cell(const Tensor& input_gates, const Tensor& hidden_gates,
                   const Tensor& cell, const MaybeTensor& input_bias,
                   const MaybeTensor& hidden_bias) {
  const auto gates = plus(hidden_gates, hidden_bias) + plus(input_gates, input_bias);
  const auto parts = gates.chunk(4, 1);
  const auto in = parts[0].sigmoid(), forget = parts[1].sigmoid();
  const auto change = parts[2].tanh(), out = parts[3].sigmoid();
  const auto next = forget * cell + in * change;
  return {out * next.tanh(), next, at::cat({in, forget, change, out}, 1)};
}

Tensors3 lstm_cell_backward(const MaybeTensor& hidden_gradient,
                            const MaybeTensor& cell_gradient, const Tensor& before,
                            const Tensor& cell, const Tensor& workspace,
                            bool has_bias) {
  const auto is_given = [](const MaybeTensor& given) {
    return given && given->defined();
  };
  if (!is_given(hidden_gradient) && !is_given(cell_gradient)) return {};
  const auto parts = workspace.chunk(4, 1);
  const auto &in = parts[0], &forget = parts[1], &change = parts[2], &out = parts[3];
  const auto squashed = cell.tanh();
  const auto to_hidden =
      is_given(hidden_gradient) ? *hidden_gradient : at::zeros_like(cell);
  auto to_cell = to_hidden * out * (1 - squashed * squashed);
  if (is_given(cell_gradient)) to_cell = to_cell + *cell_gradient;
  const auto gates = at::cat({to_cell * change * in * (1 - in),
                              to_cell * before * forget * (1 - forget),
                              to_cell * in * (1 - change * change),
                              to_hidden * squashed * out * (1 - out)},
                             1);
  return {gates, to_cell * forget, has_bias ? gates.sum(0) : Tensor()};
}

Tensors2 gru_cell(const Tensor& input_gates, const Tensor& hidden_gates,
                  const Tensor& hidden, const MaybeTensor& input_bias,
                  const MaybeTensor& hidden_bias) {
  const auto from_input = plus(input_gates, input_bias).chunk(3, 1);
  const auto from_hidden = plus(hidden_gates, hidden_bias).chunk(3, 1);
  const auto reset = (from_hidden[0] + from_input[0]).sigmoid();
  const auto keep = (from_hidden[1] + from_input[1]).sigmoid();
  const auto change = (from_input[2] + reset * from_hidden[2]).tanh();
  return {(hidden - change) * keep + change,
          at::cat({reset, keep, change, hidden, from_hidden[2]}, 1)};
}

Tensors5 gru_cell_backward(const Tensor& gradient, const Tensor& workspace,
                           bool has_bias) {
  const auto parts = workspace.chunk(5, 1);
  const auto &reset = parts[0], &keep = parts[1], &change = parts[2];
  const auto to_keep = gradient * (parts[3] - change) * keep * (1 - keep);
  const auto to_change = gradient * (1 - keep) * (1 - change * change);
  const auto to_reset = to_change * parts[4] * reset * (1 - reset);
  const auto input_gates = at::cat({to_reset, to_keep, to_change}, 1);
  const auto hidden_gates = at::cat({to_reset, to_keep, to_change * reset}, 1);
  return {input_gates, hidden_gates, gradient * keep,
          has_bias ? input_gates.sum(0) : Tensor(),
          has_bias ? hidden_gates.sum(0) : Tensor()};
}

// The probabilities of attention, before dropout, and the scores that they are of.
Tensors2 attend(const Tensor& query, const Tensor& key, const MaybeTensor& bias,
                bool is_causal, double scale) {
  auto scores = query.matmul(key.transpose(-2, -1)) * scale;
  const auto lowest = -std::numeric_limits<double>::infinity();
  if (bias && bias->defined())
    scores = bias->scalar_type() == at::kBool ? scores.masked_fill(~*bias, lowest)
                                              : scores + *bias;
  if (is_causal) {
    const auto hidden = at::ones({query.size(-2), key.size(-2)},
                                 query.options().dtype(at::kBool)).triu(1);
    scores = scores.masked_fill(hidden, lowest);
  }
  return {at::_safe_softmax(scores, -1, std::nullopt), scores};
}

double scale_of(const Tensor& query, std::optional<double> scale) {
  return scale.value_or(1 / std::sqrt(double(query.size(-1))));
}

// The seed that the backward operator gets is the mask of what dropout kept.
std::tuple<Tensor, Tensor, Tensor, Tensor, c10::SymInt, c10::SymInt, Tensor, Tensor,
           Tensor>
attention(const Tensor& query, const Tensor& key, const Tensor& value,
          const MaybeTensor& bias, double dropout, bool is_causal, bool,
          std::optional<double> scale, std::optional<at::Generator> generator) {
  auto [weights, scores] =
      attend(query, key, bias, is_causal, scale_of(query, scale));
  Tensor kept = at::empty({0}, query.options());
  if (dropout > 0) {
    kept = at::empty_like(weights).bernoulli_(1 - dropout, generator);
    weights = weights * kept / (1 - dropout);
  }
  const auto none = at::empty({0}, query.options().dtype(at::kLong));
  return {weights.matmul(value), scores.logsumexp({-1}), none, none,
          c10::SymInt(query.size(-2)), c10::SymInt(key.size(-2)), kept, none, none};
}

Tensors4 attention_backward(const Tensor& gradient, const Tensor& query,
                            const Tensor& key, const Tensor& value,
                            const Tensor& bias, std::array<bool, 4> mask, const Tensor&,
                            const Tensor&, const Tensor&, const Tensor&, int64_t,
                            int64_t, double dropout, bool is_causal, const Tensor& kept,
                            const Tensor&, std::optional<double> scale) {
  const auto factor = scale_of(query, scale);
  const auto weights = std::get<0>(attend(query, key, bias, is_causal, factor));
  const auto used = dropout > 0 ? weights * kept / (1 - dropout) : weights;
  auto to_weights = gradient.matmul(value.transpose(-2, -1));
  if (dropout > 0) to_weights = to_weights * kept / (1 - dropout);
  const auto to_scores =
      weights * (to_weights - (to_weights * weights).sum(-1, /*keepdim=*/true));
  return {to_scores.matmul(key) * factor,
          to_scores.transpose(-2, -1).matmul(query) * factor,
          used.transpose(-2, -1).matmul(gradient),
          mask[3] ? to_scores.sum_to_size(bias.sizes()) : Tensor()};
}

// Draws and multiplies as dropout on the CPU does, which never comes this way.
Tensors2 dropout(const Tensor& input, double probability, std::optional<bool> train,
                 std::optional<at::Generator> generator) {
  if (!train.value_or(true) || input.numel() == 0)
    return {input.clone(), at::ones_like(input, at::kBool)};
  if (probability == 1)
    return {input * 0, at::zeros_like(input, at::kBool)};
  auto noise = at::empty_like(input).bernoulli_(1 - probability, generator);
  const auto kept = noise.to(at::kBool);
  return {input * noise.div_(1 - probability), kept};
}

}  // namespace

TORCH_LIBRARY(spyre_host, m) {
  for (const auto& made : kStandIns) {
    std::vector<at::Tag> tags;
    if (made.draws) tags.push_back(at::Tag::nondeterministic_seeded);
    m.def(schema_of(made), std::as_const(tags));
  }
}

TORCH_LIBRARY_IMPL(spyre_host, CPU, m) {
  m.impl("convolution_overrideable", &at::convolution);
  m.impl("convolution_backward_overrideable", &convolution_backward);
  m.impl("_thnn_fused_lstm_cell", &lstm_cell);
  m.impl("_thnn_fused_lstm_cell_backward_impl", &lstm_cell_backward);
  m.impl("_thnn_fused_gru_cell", &gru_cell);
  m.impl("_thnn_fused_gru_cell_backward", &gru_cell_backward);
  m.impl("_scaled_dot_product_fused_attention_overrideable", &attention);
  m.impl("_scaled_dot_product_fused_attention_overrideable_backward",
         &attention_backward);
  m.impl("native_dropout", &dropout);
  m.impl("native_batch_norm", &at::native_batch_norm);
  m.impl("batch_norm_update_stats", &at::batch_norm_update_stats);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  for (const auto& made : kStandIns)
    m.impl(made.name, torch::CppFunction::makeFromBoxedFunction<&stand_in>());
  // Their composites refuse strides, or give others than the CPU's kernels do.
  for (const char* name : {"native_group_norm", "native_layer_norm", "pixel_shuffle",
                           "pixel_unshuffle"})
    m.impl(name, torch::CppFunction::makeFromBoxedFunction<&fallback>());
}

TORCH_LIBRARY_IMPL(_, PrivateUse1, m) {
  m.fallback(torch::CppFunction::makeFromBoxedFunction<&fallback>());
}
