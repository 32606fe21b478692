// The name of an object's class as its author wrote it, for texts: "belfry::ModelSaver".
#pragma once

#include <string>
#include <typeinfo>

#pragma GCC visibility push(default)
namespace belfry {

std::string class_name(const std::type_info& type);

// The same without namespaces: "ModelSaver".
std::string short_class_name(const std::type_info& type);

}  // namespace belfry
#pragma GCC visibility pop
