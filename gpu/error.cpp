// The error that the library throws. It is defined in this folder because samples throws it, too.
#include "gpuhist/errors.hpp"

namespace gpuhist {

error::~error() = default;

}  // namespace gpuhist
