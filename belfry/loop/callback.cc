#include "belfry/loop/callback.h"

#include "belfry/base/check.h"
#include "belfry/base/internal/class_name.h"

namespace belfry {

std::string Callback::name() const { return short_class_name(typeid(*this)); }

Trainer& Callback::trainer() const {
  BELFRY_CHECK(trainer_ != nullptr,
               "[{}] expected to take part in a training, got a call before Trainer::setup_callbacks(). Pass the "
               "callback to a trainer first.",
               name());
  return *trainer_;
}

}  // namespace belfry
