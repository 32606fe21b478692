#include "belfry/engine/cpu/recurrent/lstm_simd.h"

#include "belfry/engine/cpu/vector/vector_loop.h"
#include "belfry/engine/cpu/vector/vmath.h"

namespace belfry::BELFRY_ISA {
namespace {

void forward(const simd::LstmRow& row) {
  const std::int64_t n = row.units;
  for_each_vector(n, [&](std::int64_t at, auto memory) {
    float* gate = row.gates + at;
    const Vec i = sigmoid(memory.load(gate)), f = sigmoid(memory.load(gate + n)), g = tanh(memory.load(gate + 2 * n)),
              o = sigmoid(memory.load(gate + 3 * n));
    memory.store(gate, i);
    memory.store(gate + n, f);
    memory.store(gate + 2 * n, g);
    memory.store(gate + 3 * n, o);
    const Vec c = fma(f, memory.load(row.c_before + at), i * g), h = o * tanh(c);
    memory.store(row.c + at, c);
    memory.store(row.h + at, h);
    memory.store(row.next + at, h);
  });
}

void backward(const simd::LstmRowGrad& row) {
  const std::int64_t n = row.units;
  for_each_vector(n, [&](std::int64_t at, auto memory) {
    const float* gate = row.gates + at;
    const Vec i = memory.load(gate), f = memory.load(gate + n), g = memory.load(gate + 2 * n),
              o = memory.load(gate + 3 * n);
    const Vec t = tanh(memory.load(row.c + at)), dh = memory.load(row.dh + at) + memory.load(row.dstate + at);
    const Vec dc = fma(dh * o, 1.f - t * t, memory.load(row.dc + at));
    float* da = row.dgates + at;
    memory.store(da, dc * g * i * (1.f - i));
    memory.store(da + n, dc * memory.load(row.c_before + at) * f * (1.f - f));
    memory.store(da + 2 * n, dc * i * (1.f - g * g));
    memory.store(da + 3 * n, dh * t * o * (1.f - o));
    memory.store(row.dstate + at, Vec{});
    memory.store(row.dc + at, dc * f);
  });
}

}  // namespace

const simd::LstmKernels kLstm = {forward, backward};

}  // namespace belfry::BELFRY_ISA
