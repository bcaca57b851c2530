#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "client/abi/client_fixture.h"
#include "common/codec/infos.h"
#include "common/host_call.h"
#include "common/host_op.h"
#include "common/local/calls.h"
#include "common/values/info_list.h"
#include "common/values/value.h"
#include "pmix.h"

namespace canopy::client {
namespace {

// Returns hwloc's XML for a machine with one processor and these devices, each
// below a PCI device of its own.
std::string MachineWith(const std::string& devices) {
  const std::string sets =
      " cpuset=\"0x1\" complete_cpuset=\"0x1\" nodeset=\"0x1\""
      " complete_nodeset=\"0x1\"";
  return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
         "<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">\n"
         "<topology version=\"2.0\">\n<object type=\"Machine\" os_index=\"0\"" +
         sets +
         " allowed_cpuset=\"0x1\" allowed_nodeset=\"0x1\" gp_index=\"1\">\n"
         "<object type=\"NUMANode\" os_index=\"0\"" +
         sets +
         " gp_index=\"2\" local_memory=\"1073741824\"/>\n"
         "<object type=\"PU\" os_index=\"0\"" +
         sets +
         " gp_index=\"3\"/>\n"
         "<object type=\"Bridge\" gp_index=\"4\" bridge_type=\"0-1\""
         " depth=\"0\" bridge_pci=\"0000:[00-0f]\">\n" +
         devices + "</object>\n</object>\n</topology>\n";
}

std::string Device(int number, const std::string& name, int type,
                   const std::string& infos) {
  const std::string n = std::to_string(number);
  return "<object type=\"PCIDev\" gp_index=\"1" + n + "\" pci_busid=\"0000:0" +
         n +
         ":00.0\" pci_type=\"0200 [15b3:101b] [15b3:0000] 00\""
         " pci_link_speed=\"0.0\">\n<object type=\"OSDev\" gp_index=\"2" +
         n + "\" name=\"" + name + "\" osdev_type=\"" + std::to_string(type) +
         "\">" + infos + "</object>\n</object>\n";
}

std::string Info(const std::string& name, const std::string& value) {
  return "<info name=\"" + name + "\" value=\"" + value + "\"/>";
}

const std::string kEthernet =
    Device(1, "eno1", 2, Info("Address", "3c:fd:fe:00:00:01"));
const std::string kInfiniBand =
    Device(2, "mlx5_0", 3,
           Info("NodeGUID", "0c42:a103:0000:0001") +
               Info("SysImageGUID", "0c42:a103:0000:0001") +
               Info("Port1GID0", "fe80:0000:0000:0001:0c42:a103:0000:0001"));

// The host of this agent has no function for fabrics.
class FabricTest : public ClientTest {
 protected:
  FabricTest() { HostAnswers(kErrNotSupported); }
  ~FabricTest() override { unsetenv("HWLOC_XMLFILE"); }

  void Have(const std::string& devices) {
    const std::string path = testing::TempDir() + "/machine.xml";
    std::ofstream(path) << MachineWith(devices);
    setenv("HWLOC_XMLFILE", path.c_str(), 1);
  }
  void HostAnswers(int status, const InfoList& told = {}) {
    agent_->On(local::FrameType::kHostCall,
               [=](FakeAgent& agent, const Request& request) {
                 std::string payload;
                 EncodeInfos(told.data(), told.size(), &payload);
                 agent.Reply(request, status, payload);
               });
  }
  // Waits for the `calls`-th host call and returns its directives.
  InfoList Asked(pmix_fabric_operation_t operation, size_t calls) {
    const Request frame = agent_->Await(local::FrameType::kHostCall, calls);
    const auto sent = frame.As<local::HostCall>();
    EXPECT_EQ(sent.op, HostOp::kFabric);
    EXPECT_TRUE(sent.targets.empty());
    host_call::Fabric call;
    EXPECT_TRUE(wire::Decode(sent.call, &call));
    EXPECT_EQ(call.operation, operation);
    InfoList infos;
    EXPECT_TRUE(DecodeInfos(call.infos, &infos));
    return infos;
  }
  static int Register(pmix_fabric_t* fabric, const InfoList& directives = {}) {
    return PMIx_Fabric_register(fabric, directives.data(), directives.size());
  }
  static InfoList DataOf(const pmix_fabric_t& fabric) {
    return InfoList::FromC(fabric.info, fabric.ninfo);
  }
  static std::string Identifier(const char* key, const char* value) {
    InfoList directives;
    directives.Add(key, Value::String(value));
    pmix_fabric_t fabric = {};
    const int rc = Register(&fabric, directives);
    if (rc != PMIX_SUCCESS) return "status " + std::to_string(rc);
    const auto found = DataOf(fabric).FindString(PMIX_FABRIC_IDENTIFIER);
    EXPECT_EQ(PMIx_Fabric_deregister(&fabric), PMIX_SUCCESS);
    return found.value_or("none");
  }
};

TEST_F(FabricTest, RegisterGivesTheDataOfTheDefaultFabric) {
  Have(kEthernet + kInfiniBand);
  char name[] = "mine";
  pmix_fabric_t fabric = {};
  fabric.name = name;
  ASSERT_EQ(Register(&fabric), PMIX_SUCCESS);
  EXPECT_EQ(fabric.name, name);
  const InfoList data = DataOf(fabric);
  EXPECT_EQ(data.FindString(PMIX_FABRIC_IDENTIFIER), "openfabrics");
  EXPECT_TRUE(data.Has(PMIX_FABRIC_VENDOR));
  EXPECT_EQ(data.FindUint(PMIX_FABRIC_NUM_DEVICES), 1u);
  EXPECT_EQ(data.FindString(PMIX_FABRIC_PLANE), "fe80:0000:0000:0001");
  const auto devices = InfosOf(data.Find(PMIX_FABRIC_DEVICES)->value);
  ASSERT_TRUE(devices && devices->size() == 1);
  const InfoList device = InfoList::FromC(InfosOf((*devices)[0].value)->data(),
                                          InfosOf((*devices)[0].value)->size());
  EXPECT_EQ(KeyOf(device[0]), PMIX_DEVICE_ID);
  EXPECT_EQ(device.FindString(PMIX_FABRIC_DEVICE_NAME), "mlx5_0");
  EXPECT_EQ(device.FindString(PMIX_FABRIC_DEVICE_BUS_TYPE), "PCI");
  EXPECT_EQ(device.FindString(PMIX_FABRIC_DEVICE_VENDORID), "0x15b3");
  EXPECT_EQ(device.FindString(PMIX_FABRIC_DEVICE_PCI_DEVID), "0000:02:00.0");
  // The described machine is not this one, so the kernel has no state of its
  // devices.
  EXPECT_FALSE(device.Has(PMIX_FABRIC_DEVICE_STATE));
  EXPECT_EQ(PMIx_Fabric_deregister(&fabric), PMIX_SUCCESS);
  EXPECT_EQ(fabric.info, nullptr);
}

TEST_F(FabricTest, DirectivesChooseTheFabric) {
  Have(kEthernet + kInfiniBand);
  EXPECT_EQ(Identifier(PMIX_FABRIC_IDENTIFIER, "network"), "network");
  EXPECT_EQ(Identifier(PMIX_FABRIC_PLANE, "fe80:0000:0000:0001"),
            "openfabrics");
  EXPECT_EQ(Identifier(PMIX_FABRIC_VENDOR, "nobody"),
            "status " + std::to_string(PMIX_ERR_NOT_FOUND));
  InfoList unknown;
  unknown.Add("no.such.directive", Value::Bool(true), PMIX_INFO_REQD);
  pmix_fabric_t fabric = {};
  EXPECT_EQ(Register(&fabric, unknown), PMIX_ERR_NOT_SUPPORTED);
  InfoList wrong;
  wrong.Add(PMIX_FABRIC_VENDOR, Value::Uint32(1));
  EXPECT_EQ(Register(&fabric, wrong), PMIX_ERR_BAD_PARAM);
}

TEST_F(FabricTest, UpdateReadsTheHardwareAgain) {
  Have(kEthernet + kInfiniBand);
  pmix_fabric_t fabric = {};
  ASSERT_EQ(Register(&fabric), PMIX_SUCCESS);
  EXPECT_EQ(Register(&fabric), PMIX_ERR_BAD_PARAM);
  Have(kEthernet);
  EXPECT_EQ(PMIx_Fabric_update(&fabric), PMIX_ERR_NOT_FOUND);
  EXPECT_EQ(DataOf(fabric).FindUint(PMIX_FABRIC_NUM_DEVICES), 1u);
  Have(kInfiniBand);
  EXPECT_EQ(PMIx_Fabric_update(&fabric), PMIX_SUCCESS);
  EXPECT_EQ(PMIx_Fabric_deregister(&fabric), PMIX_SUCCESS);
  EXPECT_EQ(PMIx_Fabric_update(&fabric), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(PMIx_Fabric_deregister(&fabric), PMIX_ERR_BAD_PARAM);
}

TEST_F(FabricTest, RegisterFailsWithoutADevice) {
  Have("");
  pmix_fabric_t fabric = {};
  EXPECT_EQ(Register(&fabric), PMIX_ERR_NOT_FOUND);
  EXPECT_EQ(Register(nullptr), PMIX_ERR_BAD_PARAM);
}

TEST_F(FabricTest, NonBlockingCallsReportByTheirCallbacks) {
  Have(kEthernet);
  pmix_fabric_t fabric = {};
  OpResult registered;
  ASSERT_EQ(
      PMIx_Fabric_register_nb(&fabric, nullptr, 0, OpResult::Set, &registered),
      PMIX_SUCCESS);
  EXPECT_EQ(registered.Wait(), PMIX_SUCCESS);
  OpResult updated;
  ASSERT_EQ(PMIx_Fabric_update_nb(&fabric, OpResult::Set, &updated),
            PMIX_SUCCESS);
  EXPECT_EQ(updated.Wait(), PMIX_SUCCESS);
  OpResult gone;
  ASSERT_EQ(PMIx_Fabric_deregister_nb(&fabric, OpResult::Set, &gone),
            PMIX_SUCCESS);
  EXPECT_EQ(gone.Wait(), PMIX_SUCCESS);
  EXPECT_EQ(PMIx_Fabric_update_nb(&fabric, nullptr, nullptr),
            PMIX_ERR_BAD_PARAM);
}

TEST_F(FabricTest, TheHostsFabricDataReplaceTheNodesData) {
  Have(kEthernet);
  const InfoList told{{PMIX_FABRIC_VENDOR, Value::String("a vendor")},
                      {PMIX_FABRIC_INDEX, Value::Size(3)}};
  HostAnswers(kSuccess, told);
  const InfoList wanted{{PMIX_FABRIC_PLANE, Value::String("north")}};
  pmix_fabric_t fabric = {};
  ASSERT_EQ(Register(&fabric, wanted), PMIX_SUCCESS);
  EXPECT_EQ(DataOf(fabric), told);
  EXPECT_EQ(fabric.index, 3u);
  EXPECT_EQ(Asked(PMIX_FABRIC_REQUEST_INFO, 1), wanted);
  EXPECT_EQ(Register(&fabric), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(PMIx_Fabric_deregister(&fabric), PMIX_SUCCESS);
  EXPECT_EQ(agent_->Count(local::FrameType::kHostCall), 1u);
}

// The host knows the fabric by its index.
TEST_F(FabricTest, AnUpdateReplacesTheHostsData) {
  HostAnswers(kSuccess, {{PMIX_FABRIC_VENDOR, Value::String("a vendor")},
                         {PMIX_FABRIC_INDEX, Value::Size(3)}});
  pmix_fabric_t fabric = {};
  ASSERT_EQ(Register(&fabric), PMIX_SUCCESS);
  const InfoList grown{{PMIX_FABRIC_NUM_DEVICES, Value::Size(9)}};
  HostAnswers(kSuccess, grown);
  EXPECT_EQ(PMIx_Fabric_update(&fabric), PMIX_SUCCESS);
  EXPECT_EQ(DataOf(fabric), grown);
  EXPECT_EQ(fabric.index, 3u);
  const InfoList asked = Asked(PMIX_FABRIC_UPDATE_INFO, 2);
  EXPECT_EQ(asked.FindUint(PMIX_FABRIC_INDEX), 3u);
  EXPECT_EQ(asked.FindString(PMIX_FABRIC_VENDOR), "a vendor");
  HostAnswers(kErrNotFound);
  OpResult gone;
  ASSERT_EQ(PMIx_Fabric_update_nb(&fabric, OpResult::Set, &gone), PMIX_SUCCESS);
  EXPECT_EQ(gone.Wait(), PMIX_ERR_NOT_FOUND);
  EXPECT_EQ(DataOf(fabric), grown);
  EXPECT_EQ(PMIx_Fabric_deregister(&fabric), PMIX_SUCCESS);
}

TEST_F(FabricTest, ARefusalOfTheHostIsReturned) {
  Have(kEthernet);
  HostAnswers(kErrNotFound);
  pmix_fabric_t fabric = {};
  EXPECT_EQ(Register(&fabric), PMIX_ERR_NOT_FOUND);
  OpResult refused;
  ASSERT_EQ(
      PMIx_Fabric_register_nb(&fabric, nullptr, 0, OpResult::Set, &refused),
      PMIX_SUCCESS);
  EXPECT_EQ(refused.Wait(), PMIX_ERR_NOT_FOUND);
  EXPECT_EQ(fabric.info, nullptr);
}

TEST_F(FabricTest, GetFindsTheDevicesOfTheNode) {
  Have(kEthernet + kInfiniBand);
  const Value all = Get(PMIX_RANK_WILDCARD, PMIX_FABRIC_DEVICES);
  ASSERT_TRUE(all.AsInfos());
  EXPECT_EQ(all.AsInfos()->size(), 2u);
  InfoList which;
  which.Add(PMIX_DEVICE_ID, Value::String("eno1"), PMIX_INFO_REQD);
  const Value one = Get(PMIX_RANK_WILDCARD, PMIX_FABRIC_DEVICE, which);
  ASSERT_TRUE(one.AsInfos());
  EXPECT_EQ(
      StringOf(FindInfo(*one.AsInfos(), PMIX_FABRIC_DEVICE_ADDRESS)->value),
      "3c:fd:fe:00:00:01");
}

}  // namespace
}  // namespace canopy::client
