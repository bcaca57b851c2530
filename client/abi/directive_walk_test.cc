// Calls each function that reads its directives itself, once for every
// attribute of the tables. The answer to a query for attribute support must
// agree with the behaviour of the function.

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "client/abi/client_fixture.h"
#include "client/abi/server_options.h"
#include "client/events/handler.h"
#include "client/include/pmix_tables.h"
#include "client/session/collective_request.h"
#include "client/session/get_options.h"
#include "client/session/init_options.h"
#include "client/tool/tool_options.h"
#include "common/ids.h"
#include "common/support/attribute_support.h"
#include "common/support/ignored_directives.h"
#include "common/values/info_list.h"
#include "common/values/value.h"
#include "pmix.h"
#include "pmix_server.h"
#include "pmix_tool.h"

namespace canopy::client {
namespace {

using support::IgnoredDirectives;
using support::Level;

// Returns a valid value for the attribute.
Value SampleOf(const AttributeEntry& attribute) {
  switch (attribute.data_type) {
    case PMIX_STRING:
      return Value::String("text");
    case PMIX_BOOL:
      return Value::Bool(true);
    case PMIX_PROC:
      return Value::Proc({"job-1", 0});
    case PMIX_POINTER: {
      pmix_value_t pointer = {};
      pointer.type = PMIX_POINTER;
      return Value::FromC(pointer);
    }
    case PMIX_DATA_ARRAY:
      return Value::ProcArray(std::vector<ProcId>{{"job-1", 0}});
    default:
      return Value::Uint32(1);
  }
}

// Returns the keys of the attributes that any support level declares for
// `function`.
std::set<std::string_view> SupportedBy(std::string_view function) {
  std::set<std::string_view> keys;
  for (const Level level :
       {Level::kClient, Level::kServer, Level::kHost, Level::kTool}) {
    for (const auto& attribute : support::AttributesAt(function, level)) {
      keys.insert(FindAttributeByName(attribute.name)->key.view());
    }
  }
  return keys;
}

using Call = std::function<int(const pmix_info_t& info)>;

struct Function {
  const char* name;
  Call call;
  // True if infos whose keys the Standard does not name for the function are
  // data for its receivers.
  bool carries_data = false;
};

void IgnoreEvent(size_t, pmix_status_t, const pmix_proc_t*, pmix_info_t[],
                 size_t, pmix_info_t[], size_t,
                 pmix_event_notification_cbfunc_fn_t, void*) {}

Call Collective(const char* function) {
  return [function](const pmix_info_t& info) {
    CollectiveOptions options;
    return ParseCollectiveOptions(function, &info, 1, &options);
  };
}

Call Tool(const char* function) {
  return [function](const pmix_info_t& info) {
    ToolOptions options;
    return ParseToolOptions(function, &info, 1, &options);
  };
}

int Init(const pmix_info_t& info) {
  InitOptions options;
  return ParseInitOptions("PMIx_Init", &info, 1, &options);
}

int Finalize(const pmix_info_t& info) {
  bool barrier = false;
  return ParseFinalizeOptions(&info, 1, &barrier);
}

int Get(const pmix_info_t& info) {
  GetOptions options;
  return ParseGetOptions(&info, 1, &options);
}

int Handler(const pmix_info_t& info) {
  HandlerSpec spec;
  return ParseHandlerSpec(nullptr, 0, &info, 1, IgnoreEvent, &spec);
}

int ServerInit(const pmix_info_t& info) {
  return ReadServerDirectives(&info, 1).code();
}

int Notify(const pmix_info_t& info) {
  return PMIx_Notify_event(PMIX_ERR_TIMEOUT, nullptr, PMIX_RANGE_LOCAL,
                           const_cast<pmix_info_t*>(&info), 1, nullptr,
                           nullptr);
}

int Pull(const pmix_info_t& info) {
  pmix_proc_t proc = ToC({"job-1", 1});
  return PMIx_IOF_pull(&proc, 1, &info, 1, PMIX_FWD_STDOUT_CHANNEL, nullptr,
                       nullptr, nullptr);
}

int Push(const pmix_info_t& info) {
  const pmix_proc_t proc = ToC({"job-1", 1});
  char text[] = "text";
  pmix_byte_object_t bytes{text, sizeof text};
  return PMIx_IOF_push(&proc, 1, &bytes, &info, 1, nullptr, nullptr);
}

const Function kFunctions[] = {
    {"PMIx_Init", Init},
    {"PMIx_Finalize", Finalize},
    {"PMIx_tool_init", Tool("PMIx_tool_init")},
    {"PMIx_tool_attach_to_server", Tool("PMIx_tool_attach_to_server")},
    {"PMIx_server_init", ServerInit},
    {"PMIx_Fence", Collective("PMIx_Fence")},
    {"PMIx_Connect", Collective("PMIx_Connect")},
    {"PMIx_Disconnect", Collective("PMIx_Disconnect")},
    {"PMIx_Get", Get},
    {"PMIx_Register_event_handler", Handler},
    {"PMIx_Notify_event", Notify, /*carries_data=*/true},
    {"PMIx_IOF_pull", Pull},
    {"PMIx_IOF_push", Push},
};

class DirectiveWalk : public ClientTest {
 protected:
  // Returns the status of `function` for an attribute with these flags.
  int Give(const Function& function, const AttributeEntry& attribute,
           uint32_t flags) {
    ignored_ = false;
    IgnoredDirectives::OfProcess().SetReport(
        [this](std::string_view, std::string_view) { ignored_ = true; });
    InfoList infos;
    infos.Add(attribute.key.view(), SampleOf(attribute), flags);
    const int rc = function.call(infos[0]);
    IgnoredDirectives::OfProcess().End();
    return rc;
  }

  bool ignored_ = false;  // the last attribute was reported
};

TEST_F(DirectiveWalk, RequiredDirectivesAreSupportedOrRefused) {
  for (const Function& function : kFunctions) {
    const auto supported = SupportedBy(function.name);
    for (const AttributeEntry& attribute : Attributes()) {
      const bool honoured = supported.contains(attribute.key.view());
      const int rc = Give(function, attribute, PMIX_INFO_REQD);
      EXPECT_NE(rc, honoured ? PMIX_ERR_NOT_SUPPORTED : PMIX_SUCCESS)
          << function.name << " " << attribute.name;
    }
  }
}

TEST_F(DirectiveWalk, IgnoredOptionalDirectivesAreReported) {
  for (const Function& function : kFunctions) {
    const auto supported = SupportedBy(function.name);
    std::set<std::string_view> documented;
    for (const FunctionAttribute& row : AttributesOf(function.name)) {
      documented.insert(FindAttributeByName(row.attribute)->key.view());
    }
    for (const AttributeEntry& attribute : Attributes()) {
      const std::string_view key = attribute.key;
      if (function.carries_data && !documented.contains(key)) continue;
      const int rc = Give(function, attribute, 0);
      // A caller learns from an error, too, that the directive was not
      // honoured.
      EXPECT_EQ(ignored_ || rc != PMIX_SUCCESS,
                !supported.contains(key) || rc != PMIX_SUCCESS)
          << function.name << " " << attribute.name << ": " << rc;
    }
  }
}

}  // namespace
}  // namespace canopy::client
