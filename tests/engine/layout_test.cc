#include "belfry/engine/cpu/kernel/layout.h"

#include <gtest/gtest.h>

#include <set>

#include "belfry/array/array.h"
#include "belfry/engine/cpu/memory/variable_store.h"

namespace belfry {
namespace {

const Shape kImage{2, 3, 4, 5};  // NHWC: five channels, which blocks pad

TEST(Layout, ADenseRowMajorDescriptorIsPlain) {
  const dnnl_memory_desc_t dense = descriptor_of({2, 3, 4}, f32);
  EXPECT_TRUE(layout_of(dense).plain());
  EXPECT_EQ(Layout().name(), "plain");
  EXPECT_EQ(layout_of(dense), Layout());
  EXPECT_EQ(descriptor_of({}, f32).ndims, 1);  // a scalar is a vector of one to oneDNN
}

TEST(Layout, NamesSayTheOrderOfTheAxesAndTheBlocks) {
  EXPECT_EQ(channel_blocked(kImage, 3, 16).name(), "aDbc16d");
  EXPECT_EQ(channel_blocked(kImage, 3, 8).name(), "aDbc8d");
  EXPECT_EQ(channel_blocked(kImage, 3, 1).name(), "adbc");
  EXPECT_EQ(channel_blocked(kImage, 1, 16).name(), "aBcd16b");
}

TEST(Layout, LayoutsAreEqualWhenTheirDescriptorsAre) {
  EXPECT_EQ(channel_blocked(kImage, 3, 16), channel_blocked(kImage, 3, 16));
  EXPECT_FALSE(channel_blocked(kImage, 3, 16) == channel_blocked(kImage, 3, 8));
  EXPECT_FALSE(channel_blocked(kImage, 3, 16) == Layout());
  EXPECT_FALSE(channel_blocked(kImage, 3, 16) == channel_blocked({2, 3, 4, 6}, 3, 16));
}

TEST(Layout, BytesIncludePadding) {
  EXPECT_EQ((TensorInfo{f32, kImage, {}}.bytes()), 2u * 3 * 4 * 5 * 4);
  EXPECT_EQ((TensorInfo{f32, kImage, channel_blocked(kImage, 3, 16)}.bytes()), 2u * 3 * 4 * 16 * 4);
  EXPECT_EQ((TensorInfo{boolean, kImage, {}}.bytes()), 2u * 3 * 4 * 5);
  EXPECT_EQ((TensorInfo{f64, {3, 0}, {}}.bytes()), 0u);
  EXPECT_TRUE(has_padding(channel_blocked(kImage, 3, 16)));
  EXPECT_FALSE(has_padding(channel_blocked({2, 3, 4, 32}, 3, 16)));
  EXPECT_FALSE(has_padding(channel_blocked(kImage, 3, 1)));
  EXPECT_FALSE(has_padding(Layout()));
}

TEST(Layout, AxesAreRenamedWithoutMovingMemory) {
  // [a, b, c] row-major, seen as [c, a, b]: the strides go along.
  const dnnl_memory_desc_t turned = permuted(descriptor_of({2, 3, 4}, f32), {2, 0, 1});
  const std::vector<std::int64_t> dims(turned.dims, turned.dims + 3),
      strides(turned.format_desc.blocking.strides, turned.format_desc.blocking.strides + 3);
  EXPECT_EQ(dims, (std::vector<std::int64_t>{4, 2, 3}));
  EXPECT_EQ(strides, (std::vector<std::int64_t>{1, 12, 4}));
}

// channel_view against oneDNN's own idea of where an element lies: each is found where a reorder puts it.
TEST(Layout, AChannelViewFindsEveryElement) {
  for (const Shape& shape : {kImage, Shape{1, 1, 1, 5}, Shape{3, 2, 1, 32}, Shape{2, 17, 3}})
    for (const int axis : {1, shape.rank() - 1})
      for (const int block : {0, 1, 8, 16}) {
        const Layout layout = block == 0 ? Layout() : channel_blocked(shape, axis, block);
        SCOPED_TRACE(to_string(shape) + " " + layout.name());
        ChannelView view;
        ASSERT_TRUE(channel_view(shape, layout, axis, view));
        Array logical(f32, shape);
        for (std::int64_t i = 0; i < logical.elements(); ++i) logical.set_item(i, static_cast<double>(i + 1));
        const TensorInfo from{.dtype = f32, .shape = shape}, to{.dtype = f32, .shape = shape, .layout = layout};
        std::vector<float> physical(to.bytes() / 4, -7.f);
        reorder(from, logical.raw(), to, physical.data());
        ASSERT_EQ(static_cast<std::int64_t>(physical.size()), view.outer * view.groups * view.rows * view.inner);
        std::multiset<float> found;
        for (std::int64_t o = 0; o < view.outer; ++o)
          for (std::int64_t c = 0; c < view.groups * view.inner; ++c)
            for (std::int64_t r = 0; r < view.rows; ++r) {
              const float value = physical[static_cast<std::size_t>(
                  ((o * view.groups + c / view.inner) * view.rows + r) * view.inner + c % view.inner)];
              if (c >= view.channels) {
                EXPECT_EQ(value, 0.f) << "padding";
                continue;
              }
              found.insert(value);
              const std::int64_t index = static_cast<std::int64_t>(value) - 1;  // row-major: which channel is it of?
              std::int64_t inner = 1;
              for (int i = axis + 1; i < shape.rank(); ++i) inner *= shape[i];
              ASSERT_EQ(index / inner % shape[axis], c);
            }
        EXPECT_EQ(found.size(), static_cast<std::size_t>(logical.elements()));
      }
}

TEST(Layout, OtherLayoutsHaveNoChannelView) {
  dnnl_memory_desc_t twice = descriptor_of({32, 32, 3, 3}, f32);  // blocked on two axes, as filters are
  auto& blocking = twice.format_desc.blocking;
  blocking.inner_nblks = 2;
  blocking.inner_blks[0] = blocking.inner_blks[1] = 16;
  blocking.inner_idxs[0] = 1;
  blocking.inner_idxs[1] = 0;
  EXPECT_EQ(layout_of(twice).name(), "ABcd16b16a");
  ChannelView view;
  EXPECT_FALSE(channel_view({32, 32, 3, 3}, layout_of(twice), 1, view));
  EXPECT_FALSE(channel_view({2, 3, 4, 5}, channel_blocked(kImage, 3, 16), 1, view));
}

TEST(Layout, AReorderThereAndBackIsTheSame) {
  Array logical(f32, kImage);
  for (std::int64_t i = 0; i < logical.elements(); ++i) logical.set_item(i, static_cast<double>(i) - 40);
  const TensorInfo plain{.dtype = f32, .shape = kImage},
      blocked{.dtype = f32, .shape = kImage, .layout = channel_blocked(kImage, 3, 16)};
  std::vector<float> physical(blocked.bytes() / 4, -7.f);
  reorder(plain, logical.raw(), blocked, physical.data());
  Array back(f32, kImage);
  reorder(blocked, physical.data(), plain, back.raw());
  EXPECT_TRUE(equal(logical, back));
}

}  // namespace
}  // namespace belfry
