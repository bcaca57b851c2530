#include <gtest/gtest.h>

#include "pmix.h"
#include "pmix_server.h"
#include "pmix_tool.h"

namespace {

void RememberStatus(pmix_status_t status, void* cbdata) {
  *static_cast<pmix_status_t*>(cbdata) = status;
}

TEST(Refusals, FunctionsWithAStatusReturnNotSupported) {
  EXPECT_EQ(PMIx_Init(nullptr, nullptr, 0), PMIX_ERR_NOT_SUPPORTED);
  EXPECT_EQ(PMIx_Fence(nullptr, 0, nullptr, 0), PMIX_ERR_NOT_SUPPORTED);
  EXPECT_EQ(PMIx_server_init(nullptr, nullptr, 0), PMIX_ERR_NOT_SUPPORTED);
  EXPECT_EQ(PMIx_tool_init(nullptr, nullptr, 0), PMIX_ERR_NOT_SUPPORTED);
}

TEST(Refusals, FunctionsWithoutAStatusReturnNullOrZero) {
  EXPECT_EQ(PMIx_Get_version(), nullptr);
  EXPECT_EQ(PMIx_Info_create(3), nullptr);
  EXPECT_EQ(PMIx_Initialized(), 0);
  EXPECT_FALSE(PMIx_tool_is_connected());
  EXPECT_EQ(PMIx_Info_list_get_size(nullptr), 0u);
  EXPECT_EQ(PMIx_Value_compare(nullptr, nullptr),
            PMIX_VALUE_COMPARISON_NOT_AVAIL);
  EXPECT_EQ(PMIx_Value_true(nullptr), PMIX_NON_BOOL);
}

TEST(Refusals, FunctionsThatReturnVoidCallTheirCallback) {
  pmix_status_t status = PMIX_SUCCESS;
  PMIx_server_deregister_nspace("job", RememberStatus, &status);
  EXPECT_EQ(status, PMIX_ERR_NOT_SUPPORTED);
  status = PMIX_SUCCESS;
  PMIx_server_deregister_client(nullptr, RememberStatus, &status);
  EXPECT_EQ(status, PMIX_ERR_NOT_SUPPORTED);
  PMIx_server_deregister_client(nullptr, nullptr, nullptr);
}

TEST(Refusals, FunctionsThatReturnAStatusDoNotCallTheirCallback) {
  pmix_status_t status = PMIX_SUCCESS;
  EXPECT_EQ(PMIx_Fence_nb(nullptr, 0, nullptr, 0, RememberStatus, &status),
            PMIX_ERR_NOT_SUPPORTED);
  EXPECT_EQ(status, PMIX_SUCCESS);
}

}  // namespace
