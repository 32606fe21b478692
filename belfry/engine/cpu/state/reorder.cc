// Between layouts of one logical tensor: oneDNN's reorder for f32, a copy where the layouts agree. Also "Snapshot" and
// "ReadVariable", which keep a value that is about to be overwritten.
#include <cstring>

#include "belfry/base/parallel.h"
#include "belfry/engine/cpu/dnnl/dnnl_kernel.h"
#include "belfry/engine/cpu/kernel/kernel.h"
#include "belfry/engine/cpu/memory/variable_store.h"
#include "belfry/engine/flops.h"

namespace belfry {
namespace {

KernelPtr copy_kernel(std::size_t bytes) {
  return simple_kernel([bytes](const Buffers& b, const Step&) {
    parallel_for(static_cast<std::int64_t>(bytes), 1 << 18, [&](std::int64_t begin, std::int64_t end) {
      std::memcpy(b.out<char>() + begin, b.in<char>(0) + begin, static_cast<std::size_t>(end - begin));
    });
  });
}

KernelPtr make_reorder(const TensorInfo& from, const TensorInfo& to) {
  if (from.layout == to.layout) return copy_kernel(from.bytes());
  return dnnl_reorder(descriptor_of(from.shape, from.dtype, from.layout), descriptor_of(to.shape, to.dtype, to.layout));
}

LayoutChoice keep(const KernelContext& c) { return {{c.input(0).layout}, {c.input(0).layout}}; }
KernelPtr make_plain_copy(const KernelContext& c) { return copy_kernel(c.input(0).bytes()); }

const KernelRegistration reorder_kernel =
    define_kernel("Reorder").layout_rule(keep).follows_inputs().flops(no_flops).make(
        [](const KernelContext& c) { return make_reorder(c.input(0), c.output(0)); });
const KernelRegistration snapshot_kernel =
    define_kernel("Snapshot").layout_rule(keep).follows_inputs().elementwise().make(make_plain_copy);
const KernelRegistration read_kernel =
    define_kernel("ReadVariable").layout_rule(keep).follows_inputs().elementwise().make(make_plain_copy);

}  // namespace

void reorder(const TensorInfo& from, const void* source, const TensorInfo& to, void* destination) {
  if (from.elements() == 0) return;
  const KernelPtr kernel = make_reorder(from, to);
  const Array scratch(DType::u8, {static_cast<std::int64_t>(kernel->scratch_bytes())});
  kernel->bind({.inputs = {source}, .outputs = {destination}, .scratch = const_cast<void*>(scratch.raw())});
  kernel->run({});
}

}  // namespace belfry
