// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pinned host memory. Nothing needs to be locked in place for a simulated card; what
// counts is that PyTorch can tell this memory from other.

#pragma once

#include <ATen/core/CachingHostAllocator.h>

#include <cstdlib>
#include <map>
#include <mutex>

namespace {

std::mutex pinned_lock;
std::map<uintptr_t, size_t> pinned;

void release_pinned(void* data) {
  {
    std::lock_guard lock(pinned_lock);
    pinned.erase(reinterpret_cast<uintptr_t>(data));
  }
  std::free(data);
}

bool is_pinned(const void* data) {
  const auto address = reinterpret_cast<uintptr_t>(data);
  std::lock_guard lock(pinned_lock);
  auto after = pinned.upper_bound(address);
  if (after == pinned.begin()) return false;
  --after;
  return address < after->first + after->second;
}

struct PinnedAllocator final : at::HostAllocator {
  c10::DataPtr allocate(size_t nbytes) override {
    if (!nbytes) return {nullptr, c10::Device(c10::kCPU)};
    void* data = std::aligned_alloc(128, (nbytes + 127) / 128 * 128);
    TORCH_CHECK(data, "no host memory for ", nbytes, " pinned bytes");
    std::lock_guard lock(pinned_lock);
    pinned[reinterpret_cast<uintptr_t>(data)] = nbytes;
    return {data, data, &release_pinned, c10::Device(c10::kCPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &release_pinned; }
  void copy_data(void* to, const void* from, size_t nbytes) const override {
    default_copy_data(to, from, nbytes);
  }
  bool record_event(void*, void*, c10::Stream) override { return true; }
  void empty_cache() override {}
  at::HostStats get_stats() override { return {}; }
  void reset_accumulated_stats() override {}
  void reset_peak_stats() override {}
};

PinnedAllocator pinned_allocator;
REGISTER_HOST_ALLOCATOR(c10::DeviceType::PrivateUse1, &pinned_allocator)

}  // namespace
