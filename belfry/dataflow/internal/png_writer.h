// PNG files, with errors that name the caller.
#pragma once

#include <string>

#include "belfry/array/array.h"

#pragma GCC visibility push(default)
namespace belfry {

std::string png_file(const char* where, const Array& image);

}  // namespace belfry
#pragma GCC visibility pop
