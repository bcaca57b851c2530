#include "server/core/step/input.h"

#include "common/one_of_members.h"

template class canopy::OneOf<canopy::core::AllInputs>;
