// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What only C++ can register for a PyTorch device: allocators, guard, hooks, and the
// kernels that are metadata or copies; in the headers the generator, the operators
// that run on the host, and the rules of autocast.
// Everything that touches bytes is Python (spyre_runtime/device.py), called through
// the functions that `install` stores.

#include <ATen/EmptyTensor.h>
#include <ATen/MemoryOverlap.h>
#include <ATen/PythonTorchFunctionTLS.h>
#include <ATen/SDPBackend.h>
#include <ATen/core/Tensor.h>
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <ATen/native/ResizeCommon.h>
#include <ATen/native/TensorFactories.h>
#include <ATen/native/transformers/attention.h>
#include <ATen/ops/_reshape_alias_native.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/set_native.h>
#include <ATen/ops/unfold_native.h>
#include <ATen/ops/view_as_complex_native.h>
#include <ATen/ops/view_as_real_native.h>
#include <ATen/ops/view_native.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <c10/util/strides.h>
#include <torch/csrc/DynamicTypes.h>
#include <torch/csrc/Exceptions.h>
#include <torch/csrc/autograd/python_variable.h>
#include <torch/library.h>

#include <atomic>
#include <map>
#include <mutex>

#include "autocast.h"
#include "generator.h"
#include "host.h"
#include "nested.h"
#include "pinned.h"

namespace {

// ---- Calling Python from inside a kernel

py::object* runtime = nullptr;  // never freed: kernels may outlive the interpreter
DeviceIndex card_count = 0;
thread_local DeviceIndex current_card = 0;

// Python code under a kernel works on CPU tensors only, and must see none of the
// caller's modes: no tracing, no autograd, no autocast, no default device.
struct Plain {
  py::gil_scoped_acquire gil;
  c10::impl::ExcludeDispatchKeyGuard keys{
      c10::autograd_dispatch_keyset_with_ADInplaceOrView |
      c10::autocast_dispatch_keyset | c10::python_ks | c10::functorch_transforms_ks};
  at::impl::TorchFunctionDisabledState before =
      at::impl::PythonTorchFunctionTLS::get_disabled_state();
  Plain() {
    at::impl::PythonTorchFunctionTLS::set_disabled_state(
        at::impl::TorchFunctionDisabledState::ALL_DISABLED);
  }
  ~Plain() { at::impl::PythonTorchFunctionTLS::set_disabled_state(before); }
};

template <typename Result, typename... Args>
Result ask(const char* name, Args&&... args) {
  Plain plain;
  try {
    TORCH_CHECK(runtime, "spyre: the runtime is not installed; import torch.spyre");
    return runtime->attr(name)(std::forward<Args>(args)...).template cast<Result>();
  } catch (py::error_already_set& error) {
    error.restore();
    python_error kept;
    kept.persist();
    throw kept;
  }
}

py::tuple to_tuple(IntArrayRef values) {
  py::tuple out(values.size());
  for (size_t i = 0; i < values.size(); ++i) out[i] = values[i];
  return out;
}

DeviceIndex checked(DeviceIndex index) {
  if (index < 0) return current_card;
  TORCH_CHECK(index < card_count, "there is no card spyre:", int(index), "; ",
              int(card_count), " present");
  return index;
}

// ---- Memory

void release(void* data) {
  if (!data || !Py_IsInitialized() || _Py_IsFinalizing()) return;
  py::gil_scoped_acquire gil;
  py::error_scope keep_pending_error;
  try {
    runtime->attr("free")(reinterpret_cast<uintptr_t>(data));
  } catch (py::error_already_set& error) {
    error.discard_as_unraisable("spyre: freeing a block");
  }
}

c10::DataPtr data_on(DeviceIndex card, uintptr_t address) {
  auto* data = reinterpret_cast<void*>(address);
  return {data, data, &release, Device(kCard, card)};
}

c10::DataPtr allocate_on(DeviceIndex card, size_t nbytes) {
  return data_on(card, nbytes ? ask<uintptr_t>("allocate", int(card), nbytes) : 0);
}

struct CardAllocator final : c10::DeviceAllocator {
  c10::DataPtr allocate(size_t nbytes) override {
    return allocate_on(current_card, nbytes);
  }
  c10::DeleterFnPtr raw_deleter() const override { return &release; }
  void copy_data(void* to, const void* from, size_t nbytes) const override {
    ask<void>("copy_bytes", reinterpret_cast<uintptr_t>(from),
                    reinterpret_cast<uintptr_t>(to), nbytes);
  }
  bool initialized() override { return runtime != nullptr; }
  void emptyCache(c10::MempoolId_t) override { ask<void>("empty_cache"); }
  void recordStream(const c10::DataPtr&, c10::Stream) override {}
  c10::CachingDeviceAllocator::DeviceStats getDeviceStats(DeviceIndex card) override {
    const auto found =
        ask<std::map<std::string, int64_t>>("memory_numbers", int(checked(card)));
    c10::CachingDeviceAllocator::DeviceStats stats;
    const auto set = [&](auto& all, const char* now, const char* peak, const char* in,
                         const char* out) {
      auto& stat = all[0];
      stat.current = found.at(now), stat.peak = found.at(peak);
      stat.allocated = found.at(in), stat.freed = found.at(out);
    };
    set(stats.allocation, "live", "most_live", "allocations", "frees");
    for (auto* bytes : {&stats.allocated_bytes, &stats.reserved_bytes})
      set(*bytes, "allocated", "peak", "allocated_bytes", "freed_bytes");
    stats.num_ooms = found.at("out_of_memory");
    return stats;
  }
  void resetAccumulatedStats(DeviceIndex card) override {
    ask<void>("reset_counts", int(checked(card)));
  }
  void resetPeakStats(DeviceIndex card) override {
    ask<void>("reset_peak", int(checked(card)));
  }
  std::pair<size_t, size_t> getMemoryInfo(DeviceIndex card) override {
    return ask<std::pair<size_t, size_t>>("memory_info", int(checked(card)));
  }
};

CardAllocator card_allocator;
REGISTER_ALLOCATOR(kCard, &card_allocator)

// Gives a storage more room: its bytes in host order, in a new block.
void grow(c10::StorageImpl* storage, size_t nbytes) {
  TORCH_CHECK(storage->resizable(), "Trying to resize storage that is not resizable");
  auto data = allocate_on(storage->device().index(), nbytes);
  const auto kept = std::min(nbytes, storage->nbytes());
  if (kept) card_allocator.copy_data(data.get(), storage->data(), kept);
  storage->set_data_ptr_noswap(std::move(data));
  storage->set_nbytes(nbytes);
}

// ---- Streams and events: launches run at once, so every event has happened.

std::atomic<c10::StreamId> streams_made{0};
thread_local std::map<DeviceIndex, c10::StreamId> current_streams;

using Picoseconds = int64_t;  // an event is the simulated time of its recording

struct CardGuard final : c10::impl::DeviceGuardImplInterface {
  c10::DeviceType type() const override { return kCard; }
  Device getDevice() const override { return {kCard, current_card}; }
  Device exchangeDevice(Device device) const override {
    const auto before = getDevice();
    setDevice(device);
    return before;
  }
  void setDevice(Device device) const override {
    current_card = checked(device.index());
  }
  void uncheckedSetDevice(Device device) const noexcept override {
    if (device.index() >= 0) current_card = device.index();
  }
  DeviceIndex deviceCount() const noexcept override { return card_count; }
  c10::DeviceCapability getDeviceCapability(Device) const override { return {}; }
  static c10::Stream stream(Device device, c10::StreamId id) {
    Device whole(kCard, checked(device.index()));
    return c10::Stream(c10::Stream::UNSAFE, whole, id);
  }
  c10::Stream getStream(Device device) const override {
    const auto found = current_streams.find(checked(device.index()));
    return stream(device, found == current_streams.end() ? 0 : found->second);
  }
  c10::Stream getDefaultStream(Device device) const override {
    return stream(device, 0);
  }
  c10::Stream getNewStream(Device device, int) const override {
    return stream(device, ++streams_made);
  }
  c10::Stream getStreamFromGlobalPool(Device device, bool) const override {
    return getNewStream(device, 0);
  }
  c10::Stream exchangeStream(c10::Stream next) const override {
    const auto before = getStream(next.device());
    current_streams[next.device_index()] = next.id();
    return before;
  }
  void* getStreamNativeHandle(const c10::Stream next) const override {
    return reinterpret_cast<void*>(next.id());
  }
  bool queryStream(const c10::Stream&) const override { return true; }
  void synchronizeStream(const c10::Stream& done) const override {
    synchronizeDevice(done.device_index());
  }
  void synchronizeDevice(const DeviceIndex card) const override {
    ask<void>("synchronize", int(checked(card)));
  }
  void record(void** event, const c10::Stream& stream, const DeviceIndex,
              const c10::EventFlag) const override {
    if (!*event) *event = new Picoseconds;
    *static_cast<Picoseconds*>(*event) =
        ask<Picoseconds>("elapsed_picoseconds", int(stream.device_index()));
  }
  void destroyEvent(void* event, const DeviceIndex) const noexcept override {
    delete static_cast<Picoseconds*>(event);
  }
  void block(void*, const c10::Stream&) const override {}
  bool queryEvent(void*) const override { return true; }
  void synchronizeEvent(void*) const override {}
  double elapsedTime(void* first, void* second, const DeviceIndex) const override {
    TORCH_CHECK(first && second, "both events must be recorded first");
    const auto from = *static_cast<Picoseconds*>(first);
    return double(*static_cast<Picoseconds*>(second) - from) * 1e-9;
  }
};

C10_REGISTER_GUARD_IMPL(PrivateUse1, CardGuard)

// ---- Hooks

std::vector<at::Generator> default_generators;

const at::Generator& generator_of(DeviceIndex card) {
  return default_generators.at(checked(card));
}

struct CardHooks final : at::PrivateUse1HooksInterface {
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return card_count > 0; }
  bool hasPrimaryContext(DeviceIndex) const override { return true; }
  DeviceIndex deviceCount() const override { return card_count; }
  DeviceIndex getCurrentDevice() const override { return current_card; }
  void setCurrentDevice(DeviceIndex card) const override {
    current_card = checked(card);
  }
  DeviceIndex exchangeDevice(DeviceIndex card) const override {
    return std::exchange(current_card, checked(card));
  }
  DeviceIndex maybeExchangeDevice(DeviceIndex card) const override {
    return card < 0 ? current_card : exchangeDevice(card);
  }
  bool isPinnedPtr(const void* data) const override { return is_pinned(data); }
  at::Allocator* getPinnedMemoryAllocator() const override {
    return &pinned_allocator;
  }
  Device getDeviceFromPtr(void* data) const override {
    const auto address = reinterpret_cast<uintptr_t>(data);
    return {kCard, DeviceIndex(ask<int>("card_of", address))};
  }
  const at::Generator& getDefaultGenerator(DeviceIndex card) const override {
    return generator_of(card);
  }
  at::Generator getNewGenerator(DeviceIndex card) const override {
    return at::make_generator<CardGenerator>(checked(card));
  }
  void resizePrivateUse1Bytes(const c10::Storage& storage, size_t n) const override {
    grow(storage.unsafeGetStorageImpl(), n);
  }
};

// ---- Kernels: making tensors

Tensor make(IntArrayRef sizes, IntArrayRef strides, at::ScalarType dtype, Device on) {
  at::detail::check_size_nonnegative(sizes);
  const auto type = c10::scalarTypeToTypeMeta(dtype);
  const auto nbytes = at::detail::computeStorageNbytes(sizes, strides, type.itemsize());
  const auto card = checked(on.index());
  auto data = data_on(card, 0);
  if (nbytes) {
    Plain plain;
    auto dtype_object = py::reinterpret_borrow<py::object>(
        reinterpret_cast<PyObject*>(torch::getTHPDtype(dtype)));
    data = data_on(card, ask<uintptr_t>("allocate_tensor", int(card), nbytes,
                                        to_tuple(sizes), to_tuple(strides),
                                        dtype_object));
  }
  auto storage = c10::make_intrusive<c10::StorageImpl>(
      c10::StorageImpl::use_byte_size_t(), nbytes, std::move(data), &card_allocator,
      /*resizable=*/true);
  auto tensor = at::detail::make_tensor<c10::TensorImpl>(
      std::move(storage), c10::DispatchKeySet(DispatchKey::PrivateUse1), type);
  tensor.unsafeGetTensorImpl()->set_sizes_and_strides(sizes, strides);
  return tensor;
}

bool fills_new_memory() {
  const auto& context = at::globalContext();
  return context.deterministicAlgorithms() &&
         context.deterministicFillUninitializedMemory();
}

c10::DimVector strides_of(IntArrayRef sizes, std::optional<at::MemoryFormat> format) {
  if (format == at::MemoryFormat::ChannelsLast)
    return c10::DimVector(c10::get_channels_last_strides_2d(sizes));
  if (format == at::MemoryFormat::ChannelsLast3d)
    return c10::DimVector(c10::get_channels_last_strides_3d(sizes));
  return c10::contiguous_strides(sizes);
}

Tensor empty_strided(IntArrayRef sizes, IntArrayRef strides,
                     std::optional<at::ScalarType> dtype,
                     std::optional<at::Layout> layout, std::optional<Device> device,
                     std::optional<bool> pin) {
  TORCH_CHECK(layout.value_or(at::kStrided) == at::kStrided,
              "spyre tensors are strided, not ", *layout);
  TORCH_CHECK(!pin.value_or(false), "only dense CPU tensors can be pinned");
  auto made = make(sizes, strides, c10::dtype_or_default(dtype), *device);
  if (fills_new_memory()) at::native::fill_empty_deterministic_(made);
  return made;
}

Tensor empty(IntArrayRef sizes, std::optional<at::ScalarType> dtype,
             std::optional<at::Layout> layout, std::optional<Device> device,
             std::optional<bool> pin, std::optional<at::MemoryFormat> format) {
  at::detail::check_size_nonnegative(sizes);
  return empty_strided(sizes, strides_of(sizes, format), dtype, layout, device, pin);
}

const Tensor& resize_to(const Tensor& self, IntArrayRef sizes, IntArrayRef strides) {
  at::detail::check_size_nonnegative(sizes);
  auto* impl = self.unsafeGetTensorImpl();
  auto* storage = impl->unsafe_storage().unsafeGetStorageImpl();
  const auto nbytes = at::detail::computeStorageNbytes(
      sizes, strides, self.itemsize(), self.storage_offset());
  const auto before = storage->nbytes();
  if (nbytes > before) {
    if (before == 0 && self.storage_offset() == 0) {
      auto fresh = make(sizes, strides, self.scalar_type(), self.device());
      auto* made = fresh.unsafeGetTensorImpl()->unsafe_storage().unsafeGetStorageImpl();
      storage->set_data_ptr_noswap(made->set_data_ptr(data_on(current_card, 0)));
      storage->set_nbytes(nbytes);
    } else {
      grow(storage, nbytes);
    }
  }
  impl->set_sizes_and_strides(sizes, strides);
  if (fills_new_memory()) at::native::fill_resize_deterministic_(self, before);
  return self;
}

const Tensor& resize(const Tensor& self, IntArrayRef sizes,
                     std::optional<at::MemoryFormat> format) {
  return resize_to(self, sizes, strides_of(sizes, format));
}

Tensor& set_storage(Tensor& self, c10::Storage source, int64_t offset,
                    IntArrayRef sizes, IntArrayRef strides) {
  c10::DimVector steps(strides);
  if (strides.empty() && !sizes.empty()) steps = strides_of(sizes, std::nullopt);
  const auto nbytes =
      at::detail::computeStorageNbytes(sizes, steps, self.itemsize(), offset);
  if (nbytes > source.nbytes()) grow(source.unsafeGetStorageImpl(), nbytes);
  return at::native::set_storage_cpu_(self, std::move(source), offset, sizes, steps);
}

Tensor& set_empty(Tensor& self) {
  auto none = c10::make_intrusive<c10::StorageImpl>(
      c10::StorageImpl::use_byte_size_t(), 0, data_on(self.device().index(), 0),
      &card_allocator, true);
  return set_storage(self, c10::Storage(std::move(none)), 0, {0}, {});
}

// ---- Kernels: moving elements

bool is_same_view(const Tensor& one, const Tensor& other) {
  return one.is_alias_of(other) && one.storage_offset() == other.storage_offset() &&
         one.sizes() == other.sizes() && one.strides() == other.strides() &&
         one.scalar_type() == other.scalar_type() && one.is_conj() == other.is_conj() &&
         one.is_neg() == other.is_neg();
}

Tensor copy_from(const Tensor& source, const Tensor& target, bool) {
  if (is_same_view(source, target)) return target;
  at::assert_no_internal_overlap(target);
  at::assert_no_partial_overlap(target, source);
  ask<void>("copy", source, target);
  return target;
}

// What an operator on the host left in `source`: its sizes and strides are right too.
Tensor copy_from_and_resize(const Tensor& source, const Tensor& target) {
  if (source.sizes() != target.sizes())
    resize_to(target, source.sizes(), source.strides());
  ask<void>("copy", source, target);
  return target;
}

// The elements from a tensor's first to its last, if some of its own share a place.
std::optional<int64_t> shared_span(const Tensor& self) {
  std::vector<std::pair<int64_t, int64_t>> steps;
  for (int64_t dim = 0; dim < self.dim(); ++dim)
    if (self.size(dim) != 1) steps.emplace_back(self.stride(dim), self.size(dim));
  std::sort(steps.begin(), steps.end());
  int64_t span = 1;
  bool is_shared = false;
  for (const auto& [stride, size] : steps) {
    is_shared |= stride < span;
    span += stride * (size - 1);
  }
  if (!is_shared || self.numel() == 0) return std::nullopt;
  return span;
}

// A copy on the host, whose elements share places as they do on the card: so an
// operator finds the overlaps that it refuses, or works on them.
Tensor to_host(const Tensor& self) {
  const auto span = shared_span(self);
  if (!span) return self.to(c10::kCPU);
  const auto all = self.as_strided({*span}, {1}, self.storage_offset());
  return all.to(c10::kCPU).as_strided(self.sizes(), self.strides());
}

std::vector<Tensor> all_to_host(at::TensorList tensors) {
  std::vector<Tensor> out;
  for (size_t i = 0; i < tensors.size(); ++i) {
    size_t first = 0;
    while (first < i && !is_same_view(tensors[first], tensors[i])) ++first;
    out.push_back(first < i ? out[first] : to_host(tensors[i]));
  }
  return out;
}

at::Scalar local_scalar_dense(const Tensor& self) {
  return at::_local_scalar_dense(self.to(c10::kCPU));
}

Tensor& fill(Tensor& self, const at::Scalar& value) {
  auto one = at::empty({}, self.options().device(c10::kCPU));
  ask<void>("copy", one.fill_(value), self);
  return self;
}

Tensor& zero(Tensor& self) { return fill(self, at::Scalar(0)); }

void record_stream(Tensor&, c10::Stream) {}

// Lets `module.to` move a parameter under the same object, as it does for the
// accelerators that PyTorch knows by name: all are plain strided tensors.
bool is_swappable(const Tensor& self, const Tensor& from) {
  const auto plain = [](const Tensor& tensor) {
    return tensor.layout() == at::kStrided && !tensor.is_quantized() &&
           (tensor.device().type() == kCard || tensor.device().is_cpu());
  };
  return plain(self) && plain(from);
}

// ---- Registration

int64_t choose_attention(const Tensor&, const Tensor&, const Tensor&,
                         const std::optional<Tensor>&, double, bool,
                         std::optional<double>, bool) {
  return int64_t(at::SDPBackend::math);
}

}  // namespace

namespace at::native {
REGISTER_PRIVATEUSE1_DISPATCH(_fused_sdp_choice_stub, &choose_attention)
}  // namespace at::native

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("empty.memory_format", &empty);
  m.impl("empty_strided", &empty_strided);
  m.impl("as_strided", &at::native::as_strided_tensorimpl);
  m.impl("view", static_cast<Tensor (*)(const Tensor&, IntArrayRef)>(&at::native::view));
  m.impl("_reshape_alias", &at::native::_reshape_alias);
  m.impl("unfold", &at::native::unfold);
  m.impl("view_as_real", &at::native::view_as_real);
  m.impl("view_as_complex", &at::native::view_as_complex);
  m.impl("resize_", &resize);
  m.impl("set_", &set_empty);
  m.impl("set_.source_Tensor", &at::native::set_tensor_);
  m.impl("set_.source_Storage",
         static_cast<Tensor& (*)(Tensor&, c10::Storage)>(&at::native::set_));
  m.impl("set_.source_Storage_storage_offset", &set_storage);
  m.impl("_copy_from", &copy_from);
  m.impl("_copy_from_and_resize", &copy_from_and_resize);
  m.impl("_to_cpu", &all_to_host);
  m.impl("_local_scalar_dense", &local_scalar_dense);
  m.impl("fill_.Scalar", &fill);
  m.impl("zero_", &zero);
  m.impl("record_stream", &record_stream);
  m.impl("_has_compatible_shallow_copy_type", &is_swappable);
  m.impl("_fused_sdp_choice", &choose_attention);
}

// The copy resolves lazy conjugation and negation itself.
TORCH_LIBRARY_IMPL(aten, Conjugate, m) {
  m.impl("_copy_from", torch::CppFunction::makeFallthrough());
}
TORCH_LIBRARY_IMPL(aten, Negative, m) {
  m.impl("_copy_from", torch::CppFunction::makeFallthrough());
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("install", [](py::object functions, int cards) {
    TORCH_CHECK(!runtime, "spyre: the runtime is installed already");
    runtime = new py::object(std::move(functions));
    card_count = DeviceIndex(cards);
    for (int card = 0; card < cards; ++card)
      default_generators.push_back(
          at::make_generator<CardGenerator>(DeviceIndex(card)));
    static CardHooks hooks;
    at::RegisterPrivateUse1HooksInterface(&hooks);
  });
  m.def("current_device", [] { return int(current_card); });
  m.def("set_device", [](int card) { current_card = checked(DeviceIndex(card)); });
  m.def("default_generator",
        [](int card) { return at::Generator(generator_of(DeviceIndex(card))); });
  m.def("stand_ins", [] {
    std::vector<std::string> names;
    for (const auto& found : kStandIns) names.push_back(found.name);
    return names;
  });
  m.def("fallback_counts", [] {
    std::lock_guard lock(fallback_lock);
    return fallbacks;
  });
  m.def("reset_fallback_counts", [] {
    std::lock_guard lock(fallback_lock);
    fallbacks.clear();
  });
}
