#include "server/pmi/names.h"

#include "common/codec/decoder.h"
#include "common/codec/infos.h"
#include "common/values/info_list.h"
#include "common/values/value.h"
#include "pmix_common.h"
#include "pmix_types.h"
#include "server/pmi/request.h"

namespace canopy::pmi {

std::string InfosOfName(const std::string& service, const std::string& port) {
  InfoList infos;
  infos.Add(service, Value::String(port));
  infos.Add(PMIX_PERSISTENCE,
            Value::Integer(PMIX_PERSIST, PMIX_PERSIST_SESSION));
  std::string encoded;
  (void)EncodeInfos(infos.data(), infos.size(), &encoded);
  return encoded;
}

std::optional<std::string> PortIn(std::string_view found) {
  Decoder in(found);
  size_t count = 0;
  pmix_pdata_t data = {};
  if (!in.GetSize(&count) || count != 1 || !in.GetElement(PMIX_PDATA, &data)) {
    return std::nullopt;
  }
  const Value value = Value::Adopt(&data.value);
  const std::optional<std::string_view> port = value.AsString();
  if (!port || port->size() >= kValueMax || port->find('\n') != port->npos)
    return std::nullopt;
  return std::string(*port);
}

}  // namespace canopy::pmi
