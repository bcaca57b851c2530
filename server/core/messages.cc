#include "server/core/messages.h"

#include "common/one_of_members.h"

template class canopy::OneOf<canopy::core::MessageBodies>;
