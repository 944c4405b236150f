// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A card's generator. Its numbers come from a CPU generator of its own, which the host
// kernels that draw for the card are given: same seed, same numbers as on the CPU, and
// no other generator is touched.

#pragma once

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/Tensor.h>

#include <mutex>

namespace {

using at::Tensor;
using c10::Device, c10::DeviceIndex, c10::DispatchKey, c10::IntArrayRef;
constexpr auto kCard = c10::DeviceType::PrivateUse1;

struct CardGenerator final : c10::GeneratorImpl {
  // Kernels that draw lock this one, as on the CPU; so do the functions below.
  mutable at::Generator numbers = at::detail::createCPUGenerator();

  explicit CardGenerator(DeviceIndex card)
      : GeneratorImpl(Device(kCard, card),
                      c10::DispatchKeySet(DispatchKey::PrivateUse1)) {}

  void set_current_seed(uint64_t seed) override {
    std::lock_guard lock(numbers.mutex());
    numbers.set_current_seed(seed);
  }
  uint64_t current_seed() const override {
    std::lock_guard lock(numbers.mutex());
    return numbers.current_seed();
  }
  uint64_t seed() override {
    std::lock_guard lock(numbers.mutex());
    return numbers.seed();
  }
  // Pickling asks every device but the CPU for an offset; this one counts none.
  void set_offset(uint64_t offset) override {
    TORCH_CHECK(offset == 0, "a card's generator has no offset to set");
  }
  uint64_t get_offset() const override { return 0; }
  void set_state(const c10::TensorImpl& state) override {
    std::lock_guard lock(numbers.mutex());
    numbers.unsafeGetGeneratorImpl()->set_state(state);
  }
  c10::intrusive_ptr<c10::TensorImpl> get_state() const override {
    std::lock_guard lock(numbers.mutex());
    return numbers.unsafeGetGeneratorImpl()->get_state();
  }
  CardGenerator* clone_impl() const override {
    auto* copy = new CardGenerator(device_.index());
    copy->set_state(*get_state());
    return copy;
  }
};

const at::Generator& generator_of(DeviceIndex card);  // the default one

}  // namespace
