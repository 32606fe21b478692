#include "belfry/session/smart_init.h"

#include <gtest/gtest.h>

#include "belfry/array/npz.h"
#include "belfry/session/export_model.h"
#include "tests/session/session_testing.h"
#include "tests/support/files.h"
#include "tests/support/repository.h"

namespace belfry {
namespace {

using testing_support::GraphTest;
using testing_support::Model;
using testing_support::TempDir;

class SmartInitTest : public GraphTest {
 protected:
  TempDir dir;
};

TEST_F(SmartInitTest, TakesWhateverIsNamed) {
  const Model model;
  Session session(graph);
  session.initialize();
  const Array w = Array::full(f32, {2, 3}, 4);
  EXPECT_TRUE(SmartInit("").init(session).restored.empty());
  write_npz(dir / "w.npz", {{"fc/W", w}});
  EXPECT_EQ(SmartInit(dir / "w.npz").init(session).restored, std::vector<std::string>{"fc/W"});
  EXPECT_EQ(SmartInit({{"fc/W", w}}).init(session).restored, std::vector<std::string>{"fc/W"});
  export_model(session, dir / "model.safetensors");
  EXPECT_FALSE(SmartInit(dir / "model.safetensors").init(session).restored.empty());
}

TEST_F(SmartInitTest, KnowsCheckpointsOfTensorFlow) {
  const Model model;
  Session session(graph);
  session.initialize();
  // Read as TensorFlow's: the error about names says so.
  const std::string text = error_of(
      [&] { SmartInit(testing_support::repository_file("tests/session/data/tf/sharded/model.index")).init(session); });
  EXPECT_TRUE(contains(text, "[TfRestore '")) << text;
}

}  // namespace
}  // namespace belfry
