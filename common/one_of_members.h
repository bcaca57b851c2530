// The members of OneOf, for the source file that compiles a type: see one_of.h.
#ifndef CANOPY_COMMON_ONE_OF_MEMBERS_H_
#define CANOPY_COMMON_ONE_OF_MEMBERS_H_

#include "common/one_of.h"

namespace canopy {

template <typename Alternatives>
OneOf<Alternatives>::OneOf() = default;
template <typename Alternatives>
OneOf<Alternatives>::OneOf(const OneOf& other) = default;
template <typename Alternatives>
OneOf<Alternatives>::OneOf(OneOf&& other) noexcept = default;
template <typename Alternatives>
OneOf<Alternatives>& OneOf<Alternatives>::operator=(const OneOf& other) =
    default;
template <typename Alternatives>
OneOf<Alternatives>& OneOf<Alternatives>::operator=(OneOf&& other) noexcept =
    default;
template <typename Alternatives>
OneOf<Alternatives>::~OneOf() = default;

}  // namespace canopy

#endif  // CANOPY_COMMON_ONE_OF_MEMBERS_H_
