#include "belfry/engine/cpu/recurrent/gru_simd.h"

#include "belfry/engine/cpu/vector/vector_loop.h"
#include "belfry/engine/cpu/vector/vmath.h"

namespace belfry::BELFRY_ISA {
namespace {

void forward(const simd::GruRow& row) {
  const std::int64_t units = row.units;
  for_each_vector(units, [&](std::int64_t at, auto memory) {
    float* gate = row.gates + at;
    const float* sum = row.sums + at;
    const Vec candidate = memory.load(sum + 2 * units);
    const Vec r = sigmoid(memory.load(gate) + memory.load(sum));
    const Vec z = sigmoid(memory.load(gate + units) + memory.load(sum + units));
    const Vec n = tanh(fma(r, candidate, memory.load(gate + 2 * units)));
    memory.store(gate, r);
    memory.store(gate + units, z);
    memory.store(gate + 2 * units, n);
    memory.store(row.candidate + at, candidate);
    const Vec h = fma(z, memory.load(row.before + at) - n, n);
    memory.store(row.h + at, h);
    memory.store(row.next + at, h);
  });
}

void backward(const simd::GruRowGrad& row) {
  const std::int64_t units = row.units;
  for_each_vector(units, [&](std::int64_t at, auto memory) {
    const float* gate = row.gates + at;
    const Vec r = memory.load(gate), z = memory.load(gate + units), n = memory.load(gate + 2 * units);
    const Vec dh = memory.load(row.dh + at) + memory.load(row.dstate + at);
    const Vec da_n = dh * (1.f - z) * (1.f - n * n);
    const Vec da_z = dh * (memory.load(row.before + at) - n) * z * (1.f - z);
    const Vec da_r = da_n * memory.load(row.candidate + at) * r * (1.f - r);
    float *da = row.dgates + at, *ds = row.dsums + at;
    memory.store(da, da_r);
    memory.store(da + units, da_z);
    memory.store(da + 2 * units, da_n);
    memory.store(ds, da_r);
    memory.store(ds + units, da_z);
    memory.store(ds + 2 * units, da_n * r);
    memory.store(row.dstate + at, dh * z);
  });
}

}  // namespace

const simd::GruKernels kGru = {forward, backward};

}  // namespace belfry::BELFRY_ISA
