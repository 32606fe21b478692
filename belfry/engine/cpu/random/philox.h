// Philox 4x32-10 on as many blocks at once as a vector has lanes.
#pragma once

#include "belfry/engine/cpu/random/random_simd.h"
#include "belfry/engine/cpu/vector/lanes.h"

namespace belfry::BELFRY_ISA {
namespace {

// Word w of lane l's block, or after in_order() the words block by block: word[0] holds the first kWidth of them.
struct Words {
  UintVec word[4];
};

// The halves of the 64-bit products of all lanes with a constant.
inline void multiply_wide(UintVec v, std::uint32_t factor, UintVec& high, UintVec& low) {
#ifdef __AVX512F__
  const __m512i a = (__m512i)v, m = _mm512_set1_epi64(factor);
  const __m512i even = _mm512_mul_epu32(a, m), odd = _mm512_mul_epu32(_mm512_srli_epi64(a, 32), m);
  low = (UintVec)_mm512_mask_shuffle_epi32(even, 0xAAAA, odd, _MM_PERM_CCAA);
  high = (UintVec)_mm512_mask_shuffle_epi32(odd, 0x5555, even, _MM_PERM_DDBB);
#else
  const __m256i a = (__m256i)v, m = _mm256_set1_epi64x(factor);
  const __m256i even = _mm256_mul_epu32(a, m), odd = _mm256_mul_epu32(_mm256_srli_epi64(a, 32), m);
  low = (UintVec)_mm256_blend_epi32(even, _mm256_shuffle_epi32(odd, 0xA0), 0xAA);
  high = (UintVec)_mm256_blend_epi32(_mm256_shuffle_epi32(even, 0xF5), odd, 0xAA);
#endif
}

// The blocks block ... block + kWidth - 1; block is a multiple of kWidth, so that its low word does not wrap inside.
[[gnu::always_inline]] inline Words philox(const simd::RandomSource& source, std::uint64_t block) {
  UintVec lane;
  for (unsigned i = 0; i < kWidth; ++i) lane[i] = i;
  UintVec c0 = lane + static_cast<std::uint32_t>(block), c1 = UintVec{} + static_cast<std::uint32_t>(block >> 32);
  UintVec c2 = UintVec{} + static_cast<std::uint32_t>(source.step);
  UintVec c3 = UintVec{} + static_cast<std::uint32_t>(source.step >> 32);
  std::uint32_t key0 = source.key[0], key1 = source.key[1];
  for (int round = 0; round < 10; ++round) {
    UintVec high0, low0, high2, low2;
    multiply_wide(c0, 0xD2511F53u, high0, low0);
    multiply_wide(c2, 0xCD9E8D57u, high2, low2);
    c0 = high2 ^ c1 ^ key0;
    c1 = low2;
    c2 = high0 ^ c3 ^ key1;
    c3 = low0;
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
  return {{c0, c1, c2, c3}};
}

// From word w of each block to block after block.
[[gnu::always_inline]] inline Words in_order(const Words& words) {
#ifdef __AVX512F__
  const __m512i w0 = (__m512i)words.word[0], w1 = (__m512i)words.word[1];
  const __m512i w2 = (__m512i)words.word[2], w3 = (__m512i)words.word[3];
  const __m512i low01 = _mm512_unpacklo_epi32(w0, w1), high01 = _mm512_unpackhi_epi32(w0, w1);
  const __m512i low23 = _mm512_unpacklo_epi32(w2, w3), high23 = _mm512_unpackhi_epi32(w2, w3);
  // q_j: in the k-th quarter all of block 4 k + j
  const __m512i q0 = _mm512_unpacklo_epi64(low01, low23), q1 = _mm512_unpackhi_epi64(low01, low23);
  const __m512i q2 = _mm512_unpacklo_epi64(high01, high23), q3 = _mm512_unpackhi_epi64(high01, high23);
  const __m512i a = _mm512_shuffle_i32x4(q0, q1, 0x44), b = _mm512_shuffle_i32x4(q2, q3, 0x44);
  const __m512i c = _mm512_shuffle_i32x4(q0, q1, 0xEE), d = _mm512_shuffle_i32x4(q2, q3, 0xEE);
  return {{(UintVec)_mm512_shuffle_i32x4(a, b, 0x88), (UintVec)_mm512_shuffle_i32x4(a, b, 0xDD),
           (UintVec)_mm512_shuffle_i32x4(c, d, 0x88), (UintVec)_mm512_shuffle_i32x4(c, d, 0xDD)}};
#else
  const __m256i w0 = (__m256i)words.word[0], w1 = (__m256i)words.word[1];
  const __m256i w2 = (__m256i)words.word[2], w3 = (__m256i)words.word[3];
  const __m256i low01 = _mm256_unpacklo_epi32(w0, w1), high01 = _mm256_unpackhi_epi32(w0, w1);
  const __m256i low23 = _mm256_unpacklo_epi32(w2, w3), high23 = _mm256_unpackhi_epi32(w2, w3);
  const __m256i q0 = _mm256_unpacklo_epi64(low01, low23), q1 = _mm256_unpackhi_epi64(low01, low23);
  const __m256i q2 = _mm256_unpacklo_epi64(high01, high23), q3 = _mm256_unpackhi_epi64(high01, high23);
  return {{(UintVec)_mm256_permute2x128_si256(q0, q1, 0x20), (UintVec)_mm256_permute2x128_si256(q2, q3, 0x20),
           (UintVec)_mm256_permute2x128_si256(q0, q1, 0x31), (UintVec)_mm256_permute2x128_si256(q2, q3, 0x31)}};
#endif
}

}  // namespace
}  // namespace belfry::BELFRY_ISA
