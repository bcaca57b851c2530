#include "client/topology/inventory.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "common/values/value.h"
#include "pmix.h"
#include "pmix_deprecated.h"

namespace canopy::client {
namespace {

InfoList Node() {
  InfoList inventory;
  EXPECT_EQ(CollectInventory(&inventory), PMIX_SUCCESS);
  EXPECT_EQ(inventory.size(), 1u);
  const pmix_info_t* array = inventory.Find(PMIX_NODE_INFO_ARRAY);
  if (array == nullptr) return {};
  const auto infos = InfosOf(array->value);
  return InfoList::FromC(infos->data(), infos->size());
}

TEST(InventoryTest, DescribesThisNode) {
  char name[256] = {};
  ASSERT_EQ(gethostname(name, sizeof(name) - 1), 0);
  const InfoList node = Node();
  ASSERT_FALSE(node.empty());
  EXPECT_EQ(KeyOf(node[0]), PMIX_HOSTNAME);
  EXPECT_EQ(node.FindString(PMIX_HOSTNAME), name);
  EXPECT_GT(node.FindUint(PMIX_AVAIL_PHYS_MEMORY).value_or(0), 1u << 20);
  EXPECT_NE(node.FindString(PMIX_TOPOLOGY_SIGNATURE).value_or(""), "");
  const std::string xml = node.FindString(PMIX_TOPOLOGY_XML).value_or("");
  EXPECT_NE(xml.find("<topology"), std::string::npos);
}

TEST(InventoryTest, ReadsTheHardwareAtEachCall) {
  const std::string path = testing::TempDir() + "/machine.xml";
  const std::string sets =
      " cpuset=\"0x1\" complete_cpuset=\"0x1\" nodeset=\"0x1\""
      " complete_nodeset=\"0x1\"";
  std::ofstream(path)
      << "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
         "<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">\n<topology version=\"2.0\">"
         "<object type=\"Machine\" os_index=\"0\""
      << sets << " allowed_cpuset=\"0x1\" allowed_nodeset=\"0x1\""
      << " gp_index=\"1\"><object type=\"NUMANode\" os_index=\"0\"" << sets
      << " gp_index=\"2\" local_memory=\"1073741824\"/>"
         "<object type=\"PU\" os_index=\"0\""
      << sets << " gp_index=\"3\"/></object></topology>\n";
  setenv("HWLOC_XMLFILE", path.c_str(), 1);
  const InfoList node = Node();
  unsetenv("HWLOC_XMLFILE");
  EXPECT_EQ(node.FindUint(PMIX_AVAIL_PHYS_MEMORY), uint64_t{1} << 30);
  EXPECT_FALSE(node.Has(PMIX_FABRIC_DEVICES));
}

}  // namespace
}  // namespace canopy::client
