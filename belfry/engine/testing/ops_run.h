// Which ops the testing backend has run, for test_backend.h.
#pragma once

#include <string>

namespace belfry {

void note_op_run(const std::string& op);

}  // namespace belfry
