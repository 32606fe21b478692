// Values that are known before anything runs because they depend only on shapes and constants: the sizes that other
// shapes are made of.
#pragma once

#include <map>
#include <optional>

#include "belfry/engine/ir.h"
#include "belfry/graph/op_def.h"

namespace belfry {

// Whether a value depends only on shapes and constants, once shapes are known. Caches its results: the Ir must not
// change while it exists.
class FromShapes {
 public:
  explicit FromShapes(const Ir& ir) : ir_(ir) {}
  bool operator()(ValueId value);

 private:
  const Ir& ir_;
  std::map<ValueId, bool> found_;
};

// The values themselves, computed on request. The shapes that they depend on must be concrete.
class KnownValues {
 public:
  explicit KnownValues(const Ir& ir) : ir_(ir), from_shapes_(ir) {}
  // The integers of such a value; nothing if it does not depend only on shapes.
  KnownInts ints(ValueId value);
  // Sets those of a value that another part computed.
  void give(ValueId value, Array known) { values_[value] = std::move(known); }

 private:
  const Array& compute(ValueId value);
  const Ir& ir_;
  FromShapes from_shapes_;
  std::map<ValueId, Array> values_;
};

}  // namespace belfry
