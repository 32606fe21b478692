// Values that are known before anything runs because they follow from shapes and constants: the sizes that other shapes
// are made of.
#pragma once

#include <map>
#include <optional>

#include "belfry/engine/ir.h"
#include "belfry/graph/op_def.h"

namespace belfry {

// Whether the value follows from shapes and constants alone, once shapes are known. Remembers what it has found: for an
// Ir that does not change meanwhile.
class FromShapes {
 public:
  explicit FromShapes(const Ir& ir) : ir_(ir) {}
  bool operator()(ValueId value);

 private:
  const Ir& ir_;
  std::map<ValueId, bool> found_;
};

// The values themselves, computed when they are asked for. The shapes of what they follow from are concrete.
class KnownValues {
 public:
  explicit KnownValues(const Ir& ir) : ir_(ir), from_shapes_(ir) {}
  // The integers of such a value; none of one that does not follow from shapes.
  KnownInts ints(ValueId value);
  // Those of a value that another part computed.
  void give(ValueId value, Array known) { values_[value] = std::move(known); }

 private:
  const Array& compute(ValueId value);
  const Ir& ir_;
  FromShapes from_shapes_;
  std::map<ValueId, Array> values_;
};

}  // namespace belfry
