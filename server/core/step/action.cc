#include "server/core/step/action.h"

#include "common/one_of_members.h"

template class canopy::OneOf<canopy::core::AllActions>;
