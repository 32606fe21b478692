#include "belfry/engine/cpu/compile/placer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace belfry {
namespace {

struct Placed {
  std::size_t bytes = 0;
  Placer::Lifetime life{};
  std::size_t offset = 0;
};

bool live_together(const Placer::Lifetime& a, const Placer::Lifetime& b) {
  return a.first <= b.last && b.first <= a.last;
}
bool overlap(const Placed& a, const Placed& b) {
  return a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
}

// The lowest multiple of the alignment that is free of everything alive at the same time: 0, or directly after a block.
std::size_t naive(const std::vector<Placed>& placed, std::size_t bytes, const Placer::Lifetime& life) {
  std::vector<std::size_t> candidates{0};
  for (const Placed& other : placed)
    candidates.push_back((other.offset + other.bytes + Placer::kAlignment - 1) / Placer::kAlignment *
                         Placer::kAlignment);
  std::ranges::sort(candidates);
  for (const std::size_t offset : candidates) {
    const Placed block{bytes, life, offset};
    if (std::ranges::none_of(placed, [&](const Placed& o) { return live_together(o.life, life) && overlap(o, block); }))
      return offset;
  }
  return 0;
}

class RandomBlocks {
 public:
  RandomBlocks(unsigned seed, int times) : random_(seed), times_(times) {}
  std::size_t bytes() { return static_cast<std::size_t>(below(4) == 0 ? 1 + below(5000) : 64 * (1 + below(4))); }
  Placer::Lifetime life() {
    const int length = below(3) == 0 ? below(times_) : below(3);
    const int first = below(times_);
    return {first, std::min(first + length, times_ - 1)};
  }

 private:
  int below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  std::mt19937 random_;
  int times_;
};

TEST(Placer, TakesTheLowestPlaceThatIsFreeForTheWholeLifetime) {
  for (const int times : {1, 2, 3, 7, 64, 65, 300})
    for (unsigned seed = 0; seed < 5; ++seed) {
      RandomBlocks random(seed, times);
      Placer placer(times);
      std::vector<Placed> placed;
      for (int i = 0; i < 200; ++i) {
        Placed block{random.bytes(), random.life()};
        block.offset = placer.place(block.bytes, block.life);
        ASSERT_EQ(block.offset, naive(placed, block.bytes, block.life))
            << "block " << i << " of " << times << " times, seed " << seed;
        placed.push_back(block);
      }
      for (std::size_t i = 0; i < placed.size(); ++i)
        for (std::size_t k = 0; k < i; ++k)
          ASSERT_FALSE(live_together(placed[i].life, placed[k].life) && overlap(placed[i], placed[k])) << i << ' ' << k;
    }
}

TEST(Placer, KeepsClearOfWhatIsSettledEvenWhereThatOverlaps) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    RandomBlocks random(seed, 40);
    Placer placer(40);
    std::vector<Placed> placed;
    for (std::size_t i = 0; i < 12; ++i) {
      const Placed settled{random.bytes(), random.life(), 64 * (i * 7 % 12)};
      placer.take(settled.offset, settled.bytes, settled.life);
      placed.push_back(settled);
    }
    for (int i = 0; i < 60; ++i) {
      Placed block{random.bytes(), random.life()};
      block.offset = placer.place(block.bytes, block.life);
      ASSERT_EQ(block.offset, naive(placed, block.bytes, block.life)) << "block " << i << ", seed " << seed;
      placed.push_back(block);
    }
  }
}

TEST(Placer, ReusesMemoryAsSoonAsItsBlockIsDead) {
  Placer placer(10);
  EXPECT_EQ(placer.place(100, {0, 4}), 0u);
  EXPECT_EQ(placer.place(100, {5, 9}), 0u);
  EXPECT_EQ(placer.place(100, {4, 5}), 128u);
  EXPECT_EQ(placer.place(64, {0, 3}), 128u);
  EXPECT_EQ(placer.place(128, {0, 0}), 192u);
}

}  // namespace
}  // namespace belfry
