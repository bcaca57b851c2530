// A std::variant of many alternatives whose copying, moving and destruction are
// compiled once. With dozens of alternatives, a compiler needs longer for these
// functions than for everything else in a usual source file.
//
// A header declares the type, and one source file beside it compiles it:
//
//   struct Shapes {                         // shape.h
//     using Variant = std::variant<Circle, Square>;
//   };
//   using Shape = OneOf<Shapes>;
//   extern template class OneOf<Shapes>;
//
//   #include "common/one_of_members.h"      // shape.cc
//   template class OneOf<Shapes>;
#ifndef CANOPY_COMMON_ONE_OF_H_
#define CANOPY_COMMON_ONE_OF_H_

#include <concepts>
#include <utility>
#include <variant>

namespace canopy {

template <typename T, typename Variant>
inline constexpr bool kIsAlternative = false;
template <typename T, typename... Ts>
inline constexpr bool kIsAlternative<T, std::variant<Ts...>> =
    (std::same_as<T, Ts> || ...);

// Alternatives::Variant is the std::variant, whose alternatives can all be
// moved without an exception. A OneOf can be passed wherever a std::variant
// can, for instance to std::visit.
template <typename Alternatives>
class OneOf : public Alternatives::Variant {
 public:
  using Variant = typename Alternatives::Variant;

  // Makes a value of the first alternative.
  OneOf();
  template <typename T>
  requires(kIsAlternative<T, Variant>)
      // NOLINTNEXTLINE(google-explicit-constructor): as std::variant has it.
      OneOf(T value)
      : Variant(std::in_place_type<T>, std::move(value)) {}
  OneOf(const OneOf& other);
  OneOf(OneOf&& other) noexcept;
  OneOf& operator=(const OneOf& other);
  OneOf& operator=(OneOf&& other) noexcept;
  ~OneOf();
};

}  // namespace canopy

#endif  // CANOPY_COMMON_ONE_OF_H_
