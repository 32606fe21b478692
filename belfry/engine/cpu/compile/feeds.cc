#include "belfry/engine/cpu/compile/feeds.h"

#include "belfry/engine/engine_kinds.h"

namespace belfry {
namespace {

// One that goes to another part is copied to where that part looks for it.
bool stays_here(const Ir& ir, ValueId value) { return ir.is_op(value, kFeed) && ir.value(value).crossing == kNone; }

bool among_first(const Ir& ir, ValueId value, int count) {
  return ir.node(ir.producer(value)).attributes.integer("index") < count;
}

}  // namespace

bool is_carried(const Ir& ir, ValueId value, int carried_feeds) {
  return stays_here(ir, value) && among_first(ir, value, carried_feeds);
}

bool lies_at_callers(const Ir& ir, ValueId value, int carried_feeds) {
  return stays_here(ir, value) && !among_first(ir, value, carried_feeds);
}

}  // namespace belfry
