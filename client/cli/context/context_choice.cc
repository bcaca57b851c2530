#include "client/cli/context/context_choice.h"

#include <cstdlib>
#include <utility>
#include <vector>

#include "client/cli/context/context_store.h"

namespace canopy::cli {

Result<std::optional<v1::Context>> FindContext(const std::string& asked) {
  const ContextStore store;
  Result<std::vector<std::string>> known = store.List();
  if (!known.ok()) return known.status();
  std::string name = asked;
  const char* const said = std::getenv("CANOPY_CONTEXT");
  if (name.empty() && said != nullptr) name = said;
  Result<std::optional<std::string>> chosen =
      ChooseContext(*known, name, DefaultContextName(&getenv));
  if (!chosen.ok()) return chosen.status();
  if (!chosen->has_value()) return std::optional<v1::Context>();
  Result<v1::Context> context = store.Load(**chosen);
  if (!context.ok()) return context.status();
  return std::optional<v1::Context>(*std::move(context));
}

Result<v1::Context> NeedContext(const std::string& asked) {
  Result<std::optional<v1::Context>> context = FindContext(asked);
  if (!context.ok()) return context.status();
  if (!context->has_value()) {
    return Status(kErrNotFound, "no overlay is up; 'canopy up' starts one");
  }
  return **std::move(context);
}

}  // namespace canopy::cli
