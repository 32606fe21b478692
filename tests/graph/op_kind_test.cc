#include "belfry/graph/op_kind.h"

#include <gtest/gtest.h>

#include <set>
#include <unordered_map>

#include "belfry/graph/op_def.h"
#include "tests/support/errors.h"

namespace belfry {
namespace {

// Looked up before main(), maybe before the library's own ops are defined.
const OpKind kEarly = op_kind("Identity");

TEST(OpKind, KindsAreEqualWhereTheirNamesAre) {
  const std::string built = std::string("Ki") + "nd";
  EXPECT_EQ(op_kind("Kind"), op_kind(built));
  EXPECT_NE(op_kind("Kind"), op_kind("Kin"));
  EXPECT_EQ(op_kind(built).name(), "Kind");
  EXPECT_EQ(&op_kind("Kind").name(), &op_kind(built).name()) << "one record a name";
}

TEST(OpKind, NoOpIsAKindOfItsOwn) {
  EXPECT_EQ(OpKind(), OpKind());
  EXPECT_EQ(OpKind(), op_kind(""));
  EXPECT_EQ(OpKind().name(), "");
  EXPECT_NE(OpKind(), op_kind("Kind"));
  EXPECT_FALSE(OpKind().definition().side_effect);
}

TEST(OpKind, IsAKeyOfTables) {
  const std::set<OpKind> sorted{op_kind("KeyA"), op_kind("KeyB"), op_kind("KeyA"), OpKind()};
  EXPECT_EQ(sorted.size(), 3u);
  const std::unordered_map<OpKind, int> hashed{{op_kind("KeyA"), 1}, {op_kind("KeyB"), 2}};
  EXPECT_EQ(hashed.at(op_kind("KeyB")), 2);
}

TEST(OpKind, FindsItsDefinitionWhicheverCameFirst) {
  EXPECT_EQ(kEarly, find_op("Identity")->kind);
  EXPECT_EQ(&kEarly.definition(), find_op("Identity"));
  const OpKind before = op_kind("KindDefinedLate");
  EXPECT_FALSE(before.definition().forwards);
  const OpRegistration late = define_op("KindDefinedLate").side_effect().not_differentiable().doc("Defined late.");
  EXPECT_EQ(&before.definition(), late);
  EXPECT_EQ(late->kind, before);
}

TEST(OpKind, EveryOpIsTheDefinitionOfItsKind) {
  for (const OpDef* op : registered_ops()) {
    EXPECT_EQ(op->kind.name(), op->name);
    EXPECT_EQ(&op->kind.definition(), op);
  }
}

TEST(OpKind, AKindOfTheEnginesIsNoOpAndItsNameIsTaken) {
  const OpKind kind = define_op("KindOfTheEngine").silent().engine_kind();
  EXPECT_TRUE(kind.definition().silent);
  EXPECT_EQ(find_op("KindOfTheEngine"), nullptr);
  for (const char* name : {"KindOfTheEngine", "Feed"}) {
    EXPECT_NE(error_of([&] {
                (void)OpRegistration(define_op(name).not_differentiable());
              }).find("expected a new name, got one that is registered already"),
              std::string::npos);
    EXPECT_EQ(find_op(name), nullptr);
  }
}

}  // namespace
}  // namespace belfry
