#include "belfry/graph/attributes.h"

#include <gtest/gtest.h>

#include <thread>

namespace belfry {
namespace {

TEST(Attributes, AreSortedByNameAndTheLastOfANameCounts) {
  const Attributes made{{"b", std::int64_t{1}}, {"a", true}, {"b", std::int64_t{2}}};
  ASSERT_EQ(made.items().size(), 2u);
  EXPECT_EQ(made.items()[0].first, "a");
  EXPECT_EQ(made.integer("b"), 2);
}

TEST(Attributes, ACopySharesItsItemsUntilOneIsChanged) {
  const Attributes original{{"axis", std::int64_t{1}}};
  Attributes copy = original;
  EXPECT_EQ(&copy.items(), &original.items());
  copy.set("axis", std::int64_t{2});
  EXPECT_EQ(copy.integer("axis"), 2);
  EXPECT_EQ(original.integer("axis"), 1);
}

// What a change made is never written again, so that a copy on another thread may be read meanwhile.
TEST(Attributes, AChangeLeavesTheItemsInPlaceEvenIfNoCopyIsLeft) {
  Attributes changed{{"axis", std::int64_t{1}}};
  const Attributes::Items* before = &changed.items();
  const Attributes keeps_them = changed;
  changed.set("axis", std::int64_t{2});
  EXPECT_EQ(&keeps_them.items(), before);
  const Attributes::Items* own = &changed.items();
  changed.set("axis", std::int64_t{3});
  EXPECT_NE(&changed.items(), own);
}

TEST(Attributes, CopiesAreChangedAndReadOnSeveralThreads) {
  Attributes original{{"axis", std::int64_t{0}}};
  std::int64_t sum = 0;
  for (std::int64_t round = 0; round < 100; ++round) {
    std::thread reader([copy = original, &sum] { sum += copy.integer("axis"); });
    original.set("axis", round + 1);
    reader.join();
  }
  EXPECT_EQ(sum, 99 * 100 / 2);
}

}  // namespace
}  // namespace belfry
